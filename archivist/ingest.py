"""Take a single-file archive in: everything of it, or nothing.

The file is checked whole before anything is written: manifest, every line's form, every identity.  New
fragments are staged as segment files, and then one transaction of the log names them all and says which
conversations left.  Texts are redacted again: the file may come from an older redactor.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from archivist.fragments import Made, Redacts, seal
from archivist.jsonl import without_lone_surrogates
from archivist.known import KnownEvents
from archivist.sealing import is_bulk
from crdt import archive_file
from crdt.archive import Archive
from crdt.archive_file import Line
from crdt.errors import ArchiveRefused
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Segment, Tombstone
from crdt.segments import SEGMENT_BYTES_MAX, SEGMENT_FRAGMENTS_MAX
from crdt.union import instant_key, is_prompt, title_of

_KINDS = frozenset(Kind)
_ROLES = frozenset(Role)


class _Event(msgspec.Struct, kw_only=True):
    """An event as any tool's archive has it."""

    id: str | None = None
    kind: str
    role: str
    text: str
    timestamp: str | None = None
    parent: str | None = None


class _Provenance(msgspec.Struct, kw_only=True, rename="camel"):
    """Where any tool says that a conversation comes from."""

    relative_path: str | None = None
    redactions: int | None = None


class _Conversation(msgspec.Struct, kw_only=True, rename="camel"):
    """A conversation as any tool's archive has it; unknown fields are left aside."""

    id: str
    source: str
    source_id: str
    schema_version: int | None = None
    title: str | None = None
    workspace: str | None = None
    started_at: str | None = None
    updated_at: str | None = None
    hosts: list[str] = []
    parent_id: str | None = None
    automation: bool = False
    provenance: _Provenance = msgspec.field(default_factory=_Provenance)
    events: list[_Event]


_DECODER = msgspec.json.Decoder(_Conversation)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A line that was looked at: its hash, and the conversation that it holds."""

    sha256: bytes
    conversation_id: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A conversation in the archive before the ingest."""

    conversation_id: str
    source: str
    is_removed: bool
    is_captured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestState:
    """What an ingest reads from and writes to.

    `known_lines` are lines taken in before, by hash; `standing` the archive's conversations by id.
    """

    archive: Archive
    known: KnownEvents
    redactor: Redacts
    known_lines: Mapping[bytes, str]
    standing: Mapping[str, Standing]
    on_progress: Callable[[int, int], None] = lambda _done, _total: None


@dataclass(slots=True)
class IngestReport:
    """What an ingest did; `lines` are to be remembered once the log has them."""

    conversations: int = 0
    unchanged: int = 0
    removed: list[str] = field(default_factory=list)
    revived: list[str] = field(default_factory=list)
    lines: list[Seen] = field(default_factory=list)


@dataclass(slots=True)
class _Staging:
    """Fragments on their way: whole segments are staged, the rest waits.

    `repeated` are conversations that several lines hold; only their fragments are remembered to the end.
    `begun` counts conversations that the archive had nothing of.
    `schema_version` is that of conversations that don't say theirs.
    """

    archive: Archive
    repeated: set[str]
    schema_version: int
    segments: list[Segment] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    size_bytes: int = 0
    begun: int = 0

    def add(self, made: Made) -> None:
        size = len(made.body.data)
        if self.made and (
            self.size_bytes + size > SEGMENT_BYTES_MAX or len(self.made) == SEGMENT_FRAGMENTS_MAX
        ):
            self.stage()
        self.made.append(made)
        self.size_bytes += size

    def stage(self) -> None:
        self.segments.append(self.archive.stage([item.body for item in self.made]))
        self.made, self.size_bytes = [], 0


def ingest(state: IngestState, path: Path, *, partial: bool) -> IngestReport:
    """Take a file in; raises `ArchiveRefused` naming the line, and then nothing was changed.

    Without `partial`, conversations of the sources in the file that an earlier ingest brought and this file
    no longer has are tombstoned (DECISIONS.md 20).  A file that says it is not complete removes nothing.
    """
    manifest = archive_file.read_manifest(path)
    found = _fingerprint(path)
    size = archive_file.check(path, manifest, lambda: state.on_progress(0, 0))
    report = IngestReport()
    staging = _Staging(state.archive, _repeated(state, path), manifest.schema_version)
    try:
        _stage(state, _lines(state, path), size, report, staging)
        _refuse_changed(path, found)
        if not partial and manifest.complete:
            report.removed = _absent(state, report)
        tombstone = Tombstone(removed=report.removed, revived=sorted(report.revived))
        state.archive.commit(staging.segments, [item.body for item in staging.made], tombstone)
    except BaseException:
        state.archive.unstage(staging.segments)
        raise
    return report


def _fingerprint(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _refuse_changed(path: Path, found: tuple[int, int, int]) -> None:
    """Refuse a file that is no longer the one whose hash was checked."""
    if _fingerprint(path) != found:
        raise ArchiveRefused(f"{path.name} changed while it was read", hint="run the same command again")


def _stage(
    state: IngestState,
    lines: Iterable[tuple[Line, _Conversation | None]],
    size: int,
    report: IngestReport,
    staging: _Staging,
) -> None:
    done = 0
    for line, conversation in lines:
        done += len(line.data)
        state.on_progress(done, size)
        _take(state, line, conversation, report, staging)
    if staging.made and (staging.segments or is_bulk(staging.begun, staging.size_bytes)):
        staging.stage()


def _repeated(state: IngestState, path: Path) -> set[str]:
    """Refuse a file with a line that is no conversation, else name the conversations of several lines."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for line in archive_file.lines(path):
        state.on_progress(0, 0)
        identity = state.known_lines.get(hashlib.sha256(line.data).digest()) or _decode(path, line).id
        (repeated if identity in seen else seen).add(identity)
    return repeated


def _lines(state: IngestState, path: Path) -> Iterator[tuple[Line, _Conversation | None]]:
    """Walk the lines; None for one that was taken in before."""
    for line in archive_file.lines(path):
        is_known = hashlib.sha256(line.data).digest() in state.known_lines
        yield line, None if is_known else _decode(path, line)


def _decode(path: Path, line: Line) -> _Conversation:
    where = f"line {line.number} of {path.name}"
    try:
        found = _decoded(line.data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ArchiveRefused(f"{where} is no conversation ({error})") from None
    if found.id != conversation_id(found.source, found.source_id):
        raise ArchiveRefused(f"{where} has an id that does not follow from its source and sourceId")
    for number, event in enumerate(found.events):
        if event.kind not in _KINDS or event.role not in _ROLES:
            kind_and_role = f"{event.kind[:40]!r} and role {event.role[:40]!r}"
            raise ArchiveRefused(f"{where}: event {number} has kind {kind_and_role}, not both known")
    return found


def _decoded(data: bytes) -> _Conversation:
    """Decode a line; lone surrogates, which JSON can escape and UTF-8 can't say, become U+FFFD."""
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError) or not _SURROGATE.search(data):
            raise
    return _DECODER.decode(without_lone_surrogates(json.dumps(json.loads(data), ensure_ascii=False)))


def _take(
    state: IngestState,
    line: Line,
    conversation: _Conversation | None,
    report: IngestReport,
    staging: _Staging,
) -> None:
    sha256 = hashlib.sha256(line.data).digest()
    report.conversations += 1
    if conversation is None:
        identity = state.known_lines[sha256]
        standing = state.standing.get(identity)
        if standing is not None:
            report.lines.append(Seen(sha256=sha256, conversation_id=identity, source=standing.source))
            _unchanged(standing, identity, report)
            return
        conversation = _decoded(line.data)
    report.lines.append(Seen(sha256=sha256, conversation_id=conversation.id, source=conversation.source))
    if conversation.schema_version is None:
        conversation.schema_version = staging.schema_version
    made = state.known.new_part(_fragment(state.redactor, conversation))
    if made is None:
        _unchanged(state.standing.get(conversation.id), conversation.id, report)
        return
    staging.begun += not state.known.has_conversation(conversation.id)
    if made.fragment.conversation_id in staging.repeated:
        state.known.add([made])
    staging.add(made)


def _unchanged(standing: Standing | None, identity: str, report: IngestReport) -> None:
    report.unchanged += 1
    if standing is not None and standing.is_removed:
        report.revived.append(identity)


def _absent(state: IngestState, report: IngestReport) -> list[str]:
    present = {line.conversation_id for line in report.lines}
    sources = {line.source for line in report.lines}
    return sorted(
        item.conversation_id
        for item in state.standing.values()
        if item.source in sources
        and not item.is_captured
        and not item.is_removed
        and item.conversation_id not in present
    )


def _fragment(redactor: Redacts, given: _Conversation) -> Made:
    """Make the fragment of an ingested conversation: the place in the file is the order."""
    redactions: dict[str, int] = {}
    events = []
    for seq, event in enumerate(given.events):
        text, count = redactor.redact(event.text)
        identity = _qualified(given, event.id)
        if count and identity is not None:
            redactions[identity] = count
        events.append(
            Event(
                id=identity,
                kind=event.kind,
                role=event.role,
                text=text,
                seq=seq,
                timestamp=_instant(redactor, event.timestamp),
                parent=_qualified(given, event.parent),
            )
        )
    workspace = given.workspace
    return seal(
        Fragment(
            conversation_id=given.id,
            source=given.source,
            source_id=given.source_id,
            origin=Origin.INGEST,
            hosts=tuple(sorted(set(given.hosts))),
            relative_path=redactor.redact(given.provenance.relative_path or given.source_id)[0],
            title=_own_title(redactor, given, events),
            workspace=redactor.redact(workspace)[0] if workspace else None,
            parent_id=given.parent_id,
            automation=given.automation,
            started_at=_instant(redactor, given.started_at),
            updated_at=_instant(redactor, given.updated_at),
            redactor_version=redactor.version,
            redactions=redactions,
            declared_redactions=given.provenance.redactions or 0,
            events=events,
        )
    )


def _qualified(given: _Conversation, identity: str | None) -> str | None:
    """Bring an event id of version 1, which names no conversation, to the form of version 2."""
    if not identity:
        return None
    if given.schema_version != 1:
        return identity
    return event_id(given.id, identity)


def _instant(redactor: Redacts, timestamp: str | None) -> str | None:
    """Keep an instant as it is written; what is none may be any text."""
    return redactor.redact(timestamp)[0] if timestamp and instant_key(timestamp) is None else timestamp


def _own_title(redactor: Redacts, given: _Conversation, events: list[Event]) -> str | None:
    """Keep a title only where it says more than what a conversation without one is called."""
    if not given.title:
        return None
    title = redactor.redact(given.title)[0]
    prompt = next((event.text for event in events if is_prompt(event)), "")
    return None if title in (title_of(prompt), given.source_id) else title
