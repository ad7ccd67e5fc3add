"""What each use-case is asked; the command, the socket and in-process callers all send these.

Paths in requests are absolute: whoever asks resolves them, since the node has another working directory.
"""

from __future__ import annotations

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request without anything to say."""

    @property
    def is_dry_run(self) -> bool:
        """Tell whether it only asks what would be done."""
        return False


class SearchRequest(Request, frozen=True, kw_only=True):
    """`directory` is where the asker stands; `project` names another repository, `everywhere` means none."""

    query: str
    lane: str = "auto"
    limit: int = 10
    project: str | None = None
    everywhere: bool = False
    directory: str
    all_kinds: bool = False
    fusion: str = "convex"


class ContextRequest(Request, frozen=True, kw_only=True):
    """`project` is a directory inside a repository, or None for no scope."""

    query: str
    project: str | None = None
    limit: int = 8
    max_chars: int = 16_000
    lane: str = "auto"


class ShowRequest(Request, frozen=True, kw_only=True):
    """`record` is a record id or an unambiguous prefix of at least 4 characters."""

    record: str
    around: int = 3


class CaptureRequest(Request, frozen=True, kw_only=True):
    """`roots` maps a provider's name to the directories to read."""

    roots: dict[str, list[str]]
    since: str | None = None
    dry_run: bool = False

    @property
    def is_dry_run(self) -> bool:
        """Tell whether it only asks what would be captured."""
        return self.dry_run


class IngestRequest(Request, frozen=True, kw_only=True):
    """An archive file to take in."""

    path: str
    partial: bool = False


class ExportRequest(Request, frozen=True, kw_only=True):
    """A file to write the archive to; `everything` includes tombstoned conversations.

    `partial` leaves out what can't be read; without it nothing is written then.
    """

    path: str
    everything: bool = False
    partial: bool = False


class NotesRequest(Request, frozen=True, kw_only=True):
    """A tree of Markdown notes to index."""

    root: str
    provider: str = "brain"
    exclude: list[str] = []
    third_party: bool = False
    partial: bool = False


class StatusRequest(Request, frozen=True, kw_only=True):
    """`publish` also writes the document to `status/refresh.json`."""

    publish: bool = False


class DoctorRequest(Request, frozen=True, kw_only=True):
    """`deep` re-reads stored bytes, `fix` mends what is safe to mend, `report` adds a redacted bundle.

    `roots` are the transcript directories whose retention is checked.
    """

    deep: bool = False
    fix: bool = False
    report: bool = False
    roots: dict[str, list[str]] = {}


class RedactRequest(Request, frozen=True, kw_only=True):
    """A dry run unless `apply`."""

    apply: bool = False

    @property
    def is_dry_run(self) -> bool:
        """Tell whether it only asks what would be redacted."""
        return not self.apply


class RebuildRequest(Request, frozen=True, kw_only=True):
    """Make the index anew."""


class GapsRequest(Request, frozen=True, kw_only=True):
    """Questions of the last `days`."""

    days: int = 14


class PrepareRequest(Request, frozen=True, kw_only=True):
    """Make the indexes that context reads."""
