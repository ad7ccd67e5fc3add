"""State directories for the tests of status and doctor, made with the real parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from crdt.canonical import encode_canonical
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.segments import Body, fragment_sha256
from node import config
from node.composition import Local, open_local
from node.config import NodeConfig

AUTHORED = "2026-01-05T09:00:00.000Z"


def settings(root: Path) -> NodeConfig:
    """Make the settings of a state directory."""
    return config.load(environ={"ATRIUM_STATE": str(root), "HOME": str(root.parent)}, directory=root.parent)


@contextmanager
def opened(root: Path, *, writable: bool = False) -> Iterator[Local]:
    """Open a state directory for a block."""
    with closing(open_local(settings(root), writable=writable)) as local:
        yield local


def fragment_of(name: str, texts: Sequence[str], source: str = "claude-code") -> Body:
    """Make the fragment of a conversation that has one message for each text."""
    conversation = conversation_id(source, name)
    events = [
        Event(
            id=event_id(conversation, f"{name}-{number}"), kind=Kind.MESSAGE, role=Role.USER, text=text,
            seq=number, timestamp=AUTHORED,
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip
    fragment = Fragment(
        conversation_id=conversation, source=source, source_id=name, origin=Origin.CAPTURE,
        relative_path=f"{name}.jsonl", redactor_version=1, events=events,
    )  # fmt: skip
    data = encode_canonical(fragment)
    return Body(sha256=fragment_sha256(data), data=data)


def archive(root: Path, *bodies: Body, seal: bool = True, follow: bool = True) -> None:
    """Put fragments into the archive, and into the index and the substring lane unless told otherwise."""
    with opened(root, writable=True) as local:
        local.archive.append(bodies, seal=seal)
        if follow:
            local.follower.catch_up()
            local.substrings.catch_up()


def tree(root: Path) -> dict[str, bytes]:
    """Read everything below a directory, without SQLite's transient files."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in sorted(root.rglob("*"))
        if not path.name.endswith(("-wal", "-shm"))
    }


def ignore(_document: dict[str, object]) -> None:
    """Take signs of progress."""
