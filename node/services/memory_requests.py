"""What the use-cases of memory and decisions are asked.

An `id` is a record's id or the beginning of one, at least four characters; `if_version` is the version that
the asker saw; instants are RFC 3339.
"""

from __future__ import annotations

import msgspec

from node.services.requests import Request

LIMIT = 50


class MemoryAdd(Request, frozen=True, kw_only=True):
    """`text` is the content; `space` is a label, and `private` keeps the entry on this node.

    A `collaborative` doc is edited letter by letter by several people at once, without conflicts.
    """

    text: str
    type: str = "memory"
    project: str | None = None
    scope: str = "project"
    private: bool = False
    space: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    expires_at: str | None = None
    parents: tuple[str, ...] = ()
    headline: str | None = None
    collaborative: bool = False
    agent: str = "local"


class MemoryGet(Request, frozen=True, kw_only=True):
    """One entry."""

    id: str


class MemoryList(Request, frozen=True, kw_only=True):
    """Filters, all of which an entry must meet; `cursor` is that of the page before."""

    type: str | None = None
    tag: str | None = None
    project: str | None = None
    agent: str | None = None
    conflicts: bool = False
    deleted: bool = False
    limit: int = LIMIT
    cursor: str | None = None


class MemoryEdit(Request, frozen=True, kw_only=True):
    """`text` replaces the content; `fields` names what else is set, None takes a field away.

    `base` has the heads, as `MemoryHistory` gives them, that the text was made from; without it the newest.
    """

    id: str
    text: str | None = None
    fields: dict[str, bool | int | float | str | list[str] | None] = msgspec.field(default_factory=dict)
    base: tuple[str, ...] = ()
    if_version: int | None = None
    agent: str = "local"


class MemoryTag(Request, frozen=True, kw_only=True):
    """Tags to add and to remove."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    agent: str = "local"


class MemoryDelete(Request, frozen=True, kw_only=True):
    """Entries to delete; what is deleted can be restored."""

    ids: list[str]
    if_version: int | None = None
    agent: str = "local"


class MemoryRestore(Request, frozen=True, kw_only=True):
    """A deleted entry to bring back."""

    id: str
    agent: str = "local"


class MemoryHistory(Request, frozen=True, kw_only=True):
    """Every version of one entry."""

    id: str


class MemoryRevert(Request, frozen=True, kw_only=True):
    """A version whose content, fields and tags become the next version."""

    id: str
    version: int
    if_version: int | None = None
    agent: str = "local"


class MemoryConflicts(Request, frozen=True, kw_only=True):
    """The conflicts of one entry, or of all."""

    id: str | None = None
    limit: int = LIMIT
    cursor: str | None = None


class MemoryAccept(Request, frozen=True, kw_only=True):
    """A directive whose present text becomes active on this node."""

    id: str


class MemoryExport(Request, frozen=True, kw_only=True):
    """A file to write every record to, with its history; `private` adds those that never leave this node."""

    path: str
    private: bool = False


class MemoryImport(Request, frozen=True, kw_only=True):
    """A file that `MemoryExport` wrote."""

    path: str


class DecisionAdd(Request, frozen=True, kw_only=True):
    """`supersedes` are ids of older decisions."""

    decision: str
    rationale: str | None = None
    alternatives: tuple[str, ...] = ()
    task_id: str | None = None
    supersedes: tuple[str, ...] = ()
    project: str | None = None
    private: bool = False
    space: str | None = None
    agent: str = "local"


class DecisionList(Request, frozen=True, kw_only=True):
    """The decisions of a project, or of all; `cursor` is that of the page before."""

    project: str | None = None
    limit: int = LIMIT
    cursor: str | None = None
