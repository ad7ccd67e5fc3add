"""What all services of records share: committing operations, and changing what a record is now.

A record's text is redacted before it is hashed, so that no signed byte ever has a secret in it.  A write is
done when its entries are durable; what is derived from them follows at once where nothing is in the way, and
its failure never makes a write that is durable look like one that failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from crdt import operations, records
from crdt.entries import Draft, EntryKind
from crdt.errors import AtriumError, BadInput, Changed, NotFound
from crdt.operations import Operation, Value

if TYPE_CHECKING:
    from archivist.redact import Redactor
    from crdt.projection_reader import ProjectionReader, RecordView
    from crdt.store import Committed
    from node.composition import Local

INDEX_WAIT_S_MAX = 0.25
"""How long a write that is durable waits for the index, so that whoever wrote finds it."""
ID_CHARS_MIN = 4
"""The shortest beginning of an id that is looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One operation and the space that it belongs to."""

    space: bytes
    operation: Operation
    is_new: bool = False
    """Whether it creates the record, which is what the limits of its type ask about."""


def commit(local: Local, writes: Sequence[Write]) -> list[Committed]:
    """Redact, check, sign and store operations; all of them or none.

    Raises `BadInput` naming the field that can't be used.  After it returns, the projection has them, and the
    index mostly too.
    """
    drafts = [_draft(local, write) for write in writes]
    committed = local.feeds.write(drafts)
    follow(local)
    return committed


def _draft(local: Local, write: Write) -> Draft:
    operation = redacted(local.redactor, write.operation)
    records.check(operation, new=write.is_new)
    return Draft(space=write.space, kind=EntryKind.RECORD, body=operations.encode(operation))


def redacted(redactor: Redactor, operation: Operation) -> Operation:
    """Take secrets out of every text of an operation; ids, agents and hashes stay."""

    def clean(text: str) -> str:
        return redactor.redact(text)[0]

    def cleaned(value: Value) -> Value:
        if isinstance(value, str):
            return clean(value)
        return [clean(item) for item in value] if isinstance(value, list) else value

    return msgspec.structs.replace(
        operation,
        set={name: cleaned(value) for name, value in operation.set.items()},
        tag=[clean(tag) for tag in operation.tag],
        text=None if operation.text is None else clean(operation.text),
    )


def follow(local: Local) -> bool:
    """Bring what is derived level with the feeds; False where it could not be, which status and doctor show.

    In a node the index is written in another thread, and is waited for only a moment.
    """
    try:
        local.projector.catch_up()
        if local.follow_soon is not None:
            following = local.follow_soon()
            return bool(following and wait([following], INDEX_WAIT_S_MAX).done)
        return _follow_here(local)
    except (AtriumError, OSError):
        # What was to be kept is durable by now, and the next write or start follows again.
        return False


def _follow_here(local: Local) -> bool:
    from crdt.sqlite import sqlite_faults
    from node.services.level import bring_level

    with sqlite_faults("a derived database"):
        bring_level(local, _ignore)
    return True


def _ignore(_document: dict[str, object]) -> None:
    """Take a sign of progress that nobody sees."""


@contextmanager
def changing(local: Local) -> Iterator[ProjectionReader]:
    """Read records to change them: nobody else in this process changes any meanwhile."""
    with local.records_lock:
        local.projector.catch_up()
        with local.projection() as reader:
            yield reader


def found(reader: ProjectionReader, identity: str, *types: str) -> RecordView:
    """Find a record of one of these types by its id or its beginning; raises `NotFound` or `BadInput`."""
    prefix = identity.strip().lower()
    if len(prefix) < ID_CHARS_MIN:
        raise BadInput(
            f"`{identity[:ID_CHARS_MIN]}` is no id", hint=f"give at least {ID_CHARS_MIN} characters of one"
        )
    view = reader.get(prefix)
    if types and view.state.type not in types:
        raise NotFound(f"{view.state.id} is a {view.state.type}, not a {' or '.join(types)}")
    return view


def refuse_other_version(view: RecordView, wanted: int | None) -> None:
    """Raise `Changed` when a record is no longer at the version that the asker saw."""
    if wanted is not None and view.state.version != wanted:
        raise Changed(
            f"{view.state.id} is at version {view.state.version}, not {wanted}",
            hint=f"see `atrium memory history {view.state.id}`, then name version {view.state.version}",
        )


def space_of(local: Local, label: str | None, *, is_private: bool) -> bytes:
    """Choose the space of a new record: a named one, else the private or the home space of this node."""
    if is_private:
        if label is not None:
            raise BadInput("what is private lives in no space that has a label", hint="leave out one of both")
        return local.feeds.private()
    if label is None:
        return local.feeds.home()
    return _labelled(local, label)


def _labelled(local: Local, label: str) -> bytes:
    named = [space for space, roster in local.feeds.spaces().items() if roster.label == label]
    if not named:
        raise NotFound(f"there is no space `{label}`", hint="run `atrium spaces` to see which there are")
    if len(named) > 1:
        raise BadInput(f"several spaces are labelled `{label}`", hint="run `atrium spaces` and rename one")
    return named[0]


def node_name(local: Local, space: bytes, author: bytes) -> str:
    """Name the node of a key as the space's members do, or by the beginning of its id."""
    from crdt.keys import node_id

    member = local.feeds.roster(space).members.get(author)
    return member.name if member is not None and member.name else node_id(author)[:8]
