"""What all services of records share: committing operations, and changing what a record is now.

A record's text is redacted before it is hashed, so that no signed byte ever has a secret in it.  A write is
done when its entries are durable; what is derived from them follows at once where nothing is in the way, and
its failure never makes a write that is durable look like one that failed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from crdt import ids, operations, records
from crdt.causal_order import CausalOrder
from crdt.clock import pack, wall_ms
from crdt.entries import Draft, EntryKind
from crdt.errors import AtriumError, BadInput, Changed, IndexUnavailable, NotAllowed, NotFound, Unavailable
from crdt.operations import Operation, Value
from crdt.projection_feeds import operation_of, stamp
from crdt.projects import project_id
from crdt.record_rights import MODERATE
from crdt.reducer import extend, reduce
from node.services.space_names import find_space, name_in, refuse_secret
from retrieval.memory_rows import EVENT, FILINGS

if TYPE_CHECKING:
    from archivist.redact import Redactor
    from crdt.operations import Stamped
    from crdt.projection_reader import ProjectionReader, RecordView
    from crdt.roster import Roster
    from crdt.store import Committed
    from node.composition import Local
    from retrieval.record_edges import Here, Newest

_AGENT = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_SPACE_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)
LEVEL_WAIT_S_MAX = 2.0
_LEVEL_POLL_S = 0.02
INDEX_WAIT_S_MAX = 0.25
"""How long a write that is durable waits for the index, so that whoever wrote finds it."""


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
    committed = write(local, writes)
    follow(local)
    return committed


def write(local: Local, writes: Sequence[Write]) -> list[Committed]:
    """Do what `commit` does, and leave to the caller to `follow` once when all is written."""
    return local.feeds.write(
        [
            Draft(
                space=write.space,
                kind=EntryKind.RECORD,
                body=body_of(local.redactor, write.operation, is_new=write.is_new),
            )
            for write in writes
        ]
    )


def create(local: Local, space: bytes, operation: Operation) -> RecordView:
    """Commit the creation of a record and give the record; nothing needs to be read for it."""
    (committed,) = commit(local, [Write(space=space, operation=operation, is_new=True)])
    return created(local, committed)


def created(local: Local, committed: Committed) -> RecordView:
    """Give the record that a committed operation creates."""
    from crdt.projection_reader import RecordView

    space = committed.entry.home
    roster = local.feeds.roster(space)
    state = reduce([_said(committed)], roster)
    if state is None:
        raise AssertionError("what this node has just created counts")
    return RecordView(
        row=0, change_seq=0, space=space, space_kind=roster.kind, space_label=roster.label, state=state
    )


def change(
    local: Local, reader: ProjectionReader, view: RecordView, operation: Operation | None
) -> RecordView:
    """Commit an operation on a record, None for nothing to do, and give the record as it is then.

    Raises `NotAllowed` for a record that only others may change.
    """
    if operation is None:
        return view
    refuse_foreign(local, view)
    roster = local.feeds.roster(view.space)
    if view.state.collaborative:
        operation = _as_edit(local, operation, reader.operations(view), roster)
    (committed,) = commit(local, [Write(space=view.space, operation=operation)])
    said = _said(committed)
    state = extend(view.state, said, roster)
    if state is None:
        state = reduce([*reader.operations(view), said], roster)
    return msgspec.structs.replace(view, state=state or view.state)


def _said(committed: Committed) -> Stamped:
    """Give the operation that this node has just committed."""
    operation = operation_of(committed.entry)
    if operation is None:
        raise AssertionError("what this node has just written can be read")
    return stamp(committed.entry, operation)


def collaborative(local: Local, space: bytes, creation: Operation) -> Operation:
    """Make the creation of a document that several people edit at once of that of an ordinary one."""
    return _as_edit(local, creation, [], local.feeds.roster(space))


def _as_edit(local: Local, operation: Operation, said: Sequence[Stamped], roster: Roster) -> Operation:
    """Turn a new text into an edit of what it was made from; its secrets have to go before."""
    from crdt.collaboration import as_edit

    causal = CausalOrder(said)
    seen = {sha256 for head in operation.base for sha256 in causal.ancestors(head)}
    before = [one for one in causal.order if one.hash in seen]
    return as_edit(redacted(local.redactor, operation), before, roster, local.feeds.author())


def body_of(redactor: Redactor, operation: Operation, *, is_new: bool) -> bytes:
    """Redact, check and encode an operation; raises `BadInput` naming the field that can't be used."""
    for name in (operation.id, operation.agent, operation.by or ""):
        refuse_secret(redactor, name)
    clean = redacted(redactor, operation)
    records.check(clean, new=is_new)
    body = operations.encode(clean)
    # What breaks a limit would be read by nobody, this node included.
    operations.decode(body)
    return body


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
        tag=[tag for tag in map(clean, operation.tag) if tag],
        untag=[(clean(tag), dot) for tag, dot in operation.untag],
        text=None if operation.text is None else clean(operation.text),
    )


def follow(local: Local) -> bool:
    """Bring what is derived level with the feeds; False where it could not be, which status and doctor show.

    In a node the index is written in another thread, and is waited for only a moment.
    """
    try:
        local.projector.catch_up()
        if local.follow_soon is not None:
            # Imported here, since who only reads needs no threads.
            from concurrent.futures import wait

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


@contextmanager
def looking(local: Local) -> Iterator[ProjectionReader | None]:
    """Read records; None where none was ever kept here.

    Raises `IndexUnavailable` in a command beside no node that finds records which a crash kept from being
    laid out: what is old must not pass for all there is.
    """
    with ExitStack() as stack:
        try:
            reader = stack.enter_context(local.projection())
        except Unavailable:
            if local.writable or _has_records(local, 0):
                raise
            yield None
            return
        if not local.writable:
            _wait_until_level(local, reader)
        yield reader


def _wait_until_level(local: Local, reader: ProjectionReader) -> None:
    """Give a command that writes at this moment the time to lay out what it has committed."""
    deadline_s = time.monotonic() + LEVEL_WAIT_S_MAX
    while _has_records(local, reader.watermark()):
        if time.monotonic() > deadline_s:
            raise IndexUnavailable(
                "what was kept last is not laid out yet", hint="run `atrium prepare-context`"
            )
        time.sleep(_LEVEL_POLL_S)


def _has_records(local: Local, after: int) -> bool:
    """Tell whether the feeds have operations on records behind a place."""
    try:
        feeds = local.feeds
    except IndexUnavailable:
        return False
    return next(iter(feeds.entries(after, (EntryKind.RECORD,))), None) is not None


def found(reader: ProjectionReader, identity: str, *types: str) -> RecordView:
    """Find a record of one of these types by its id or its beginning; raises `NotFound` or `BadInput`."""
    return reader.get(identity.strip().lower(), types=types)


def refuse_other_version(view: RecordView, wanted: int | None) -> None:
    """Raise `Changed` when a record is no longer at the version that the asker saw."""
    if wanted is not None and view.state.version != wanted:
        raise Changed(
            f"{view.state.id} is at version {view.state.version}, not {wanted}",
            hint=f"see `atrium memory history {view.state.id}`, then name version {view.state.version}",
        )


def refuse_foreign(local: Local, view: RecordView) -> None:
    """Raise `NotAllowed` for a record of somebody else in a space where this node may not moderate."""
    own, roster = local.feeds.author(), local.feeds.roster(view.space)
    if view.state.owners != [own] and not roster.may(own, MODERATE, pack(wall_ms())):
        owner = name_in(roster, view.state.creator)
        raise NotAllowed(f"{view.id} is {owner}'s, and this node may not moderate `{roster.label}`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a new record is wanted: `space` is a label or an id, `project` may be bound to a space."""

    space: str | None = None
    project: str | None = None
    is_private: bool = False


def space_of(local: Local, place: Place) -> bytes:
    """Choose the space of a new record: the named one, else the private one, the project's, or home."""
    if place.space is not None:
        space = find_space(local.feeds, place.space)
        if place.is_private and space != local.feeds.private():
            raise BadInput(
                f"what is private can't be in the space `{place.space}`", hint="leave out one of both"
            )
        return space
    if place.is_private:
        return local.feeds.private()
    bound = None if place.project is None else _bound(local, place.project)
    return local.feeds.home() if bound is None else bound


def _bound(local: Local, project: str) -> bytes | None:
    """Give the space that a project is bound to; raises `BadInput` where what others said names none."""
    try:
        with local.projection() as reader:
            view = reader.get(project_id(project), space=local.feeds.home(), types=["project"])
    except NotFound:
        return None
    bound = view.field("space")
    if view.state.deleted or not isinstance(bound, str):
        return None
    if not _SPACE_ID.fullmatch(bound):
        raise BadInput(
            f"the project `{project}` is bound to {bound[:80]!a}, which is no space", hint="name a space"
        )
    return bytes.fromhex(bound)


Speaker = tuple[bytes, str, str | None]
"""A node's key, an agent's name, and the `agent@node` of who said it first, where it was imported."""


def speaker_of(local: Local, space: bytes, speaker: Speaker) -> tuple[str, str]:
    """Name the agent and the node of an operation, the node as the space's members do."""
    author, agent, by = speaker
    if by is not None:
        agent, _, node = by.rpartition("@")
        return agent, node
    return agent, name_in(local.feeds.roster(space), author)


def newest_in(local: Local, reader: ProjectionReader) -> Newest:
    """Make what tells which records are superseded."""
    from retrieval.record_edges import Newest

    return Newest(reader, here(local))


def here(local: Local) -> Here:
    """Say whose node this is, to who judges what others said."""
    from retrieval.record_edges import Here

    home = local.feeds.home_if_any()
    return Here(author=b"" if home is None else local.feeds.author(), home=home or b"")


def index_record_id(kind: str, identity: str) -> str:
    """Name the record of the index that a record of some type becomes."""
    conversation = ids.conversation_id(FILINGS[kind].source, identity)
    return ids.record_id(conversation, ids.event_id(conversation, EVENT))


def checked_agent(name: str) -> str:
    """Check the name of an agent; raises `BadInput`."""
    if not _AGENT.fullmatch(name):
        raise BadInput(
            f"{name[:80]!a} is no name of an agent", hint="use letters, digits, `_` and `-`, at most 64"
        )
    return name
