"""A small world with a real archive, notes and an index of them, for the tests of what answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crdt.canonical import encode_canonical
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id, record_id
from crdt.segments import Body, fragment_sha256
from node import config
from node.composition import Local, open_local
from retrieval.index_reader import IndexReader
from retrieval.note_index import NoteIndex
from retrieval.notes import note_root_id, parse_note

SOURCE = "claude-code"
AUTHORED = "2026-03-05T09:00:00.000Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One event to archive; its raw id is its place in the conversation."""

    text: str
    role: str = Role.USER
    kind: str = Kind.MESSAGE
    at: str | None = AUTHORED


def body(name: str, events: Sequence[str | Said], workspace: str | None = None, source: str = SOURCE) -> Body:
    """Make a whole conversation of texts, a user's where nothing else is said."""
    conversation = conversation_id(source, name)
    made = [
        Event(
            id=event_id(conversation, f"{name}-{seq}"), kind=item.kind, role=item.role,
            text=item.text, seq=seq, timestamp=item.at,
        )
        for seq, item in enumerate(Said(text=event) if isinstance(event, str) else event for event in events)
    ]  # fmt: skip
    fragment = Fragment(
        conversation_id=conversation, source=source, source_id=name, origin=Origin.CAPTURE,
        relative_path=f"{name}.jsonl", workspace=workspace, redactor_version=1, events=made,
    )  # fmt: skip
    data = encode_canonical(fragment)
    return Body(sha256=fragment_sha256(data), data=data)


def record(name: str, place: int = 0, source: str = SOURCE) -> str:
    """Name the record of an event of a conversation."""
    conversation = conversation_id(source, name)
    return record_id(conversation, event_id(conversation, f"{name}-{place}"))


class Indexed:
    """A state directory below `root`, with a home beside it; `local` writes, readers open anew."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.state = root / "state"
        self.home.mkdir(parents=True, exist_ok=True)

    def local(self, *, writable: bool = False) -> Local:
        """Open the state directory."""
        environ = {"ATRIUM_STATE": str(self.state), "HOME": str(self.home)}
        settings = config.load(environ=environ, directory=self.root)
        return open_local(settings, writable=writable)

    @contextmanager
    def opened(self, *, writable: bool = False) -> Iterator[Local]:
        """Open the state directory for a block."""
        local = self.local(writable=writable)
        try:
            yield local
        finally:
            local.close()

    def tell(self, *bodies: Body, seal: bool = True, letters: bool = True) -> Indexed:
        """Archive conversations and index them; `letters` brings the substring lane level too."""
        with self.opened(writable=True) as local:
            local.archive.append(bodies, seal=seal)
            local.follower.catch_up()
            if letters:
                local.substrings.catch_up()
        return self

    def note(self, notes: Mapping[str, str], root: str = "notes", role: str = "note") -> Indexed:
        """Index Markdown texts by path, as a person's notes or as third parties' (role source)."""
        with self.opened(writable=True) as local:
            index = NoteIndex(local.index, lambda text: (text, 0))
            filed = index.root(note_root_id(self.root / root, self.home), "brain", role)
            index.put(filed, [parse_note(path, text.encode()) for path, text in notes.items()])
            local.substrings.catch_up()
        return self

    def supersede(self, newer: str, older: str) -> Indexed:
        """Put one index record in another's place."""
        with self.opened(writable=True) as local, local.index.transaction():
            local.index.superseded.put(b"", f"{newer} {older}", bytes.fromhex(newer), bytes.fromhex(older))
        return self

    def project(self, name: str) -> Path:
        """Make a directory below the home that counts as a repository."""
        made = self.home / "work" / name
        (made / ".git").mkdir(parents=True)
        return made

    @contextmanager
    def reader(self) -> Iterator[IndexReader]:
        """Open the index for reading."""
        with self.opened() as local, local.reader() as reader:
            yield reader


def workspace(name: str) -> str:
    """Name a project of `Indexed.project` as a workspace."""
    return f"[HOME]/work/{name}"


def ignore(_document: dict[str, object]) -> None:
    """Take signs of progress."""
