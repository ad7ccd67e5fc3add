"""Small events, fragments and archives for the tests of the canonical core."""

from __future__ import annotations

from pathlib import Path

from crdt.archive import Archive
from crdt.canonical import encode_canonical
from crdt.clock import HybridClock
from crdt.events import Event, Fragment, Origin
from crdt.ids import conversation_id, event_id
from crdt.segments import Body, SegmentDirectory, fragment_sha256
from crdt.union import Stamped
from tests.crdt.logs import open_log

SOURCE, SOURCE_ID = "claude-code", "session-1"
CONVERSATION = conversation_id(SOURCE, SOURCE_ID)


def event(name: str, seq: int, text: str | None = None, **more: str | None) -> Event:
    """Make a message of the user, named by its raw id."""
    fields = {"kind": "message", "role": "user", "timestamp": None, "parent": None, **more}
    return Event(
        id=event_id(CONVERSATION, name),
        kind=str(fields["kind"]),
        role=str(fields["role"]),
        text=f"text of {name}" if text is None else text,
        seq=seq,
        timestamp=fields["timestamp"],
        parent=fields["parent"],
    )


def fragment(*events: Event, path: str = "a.jsonl", redactor: int = 1, **more: object) -> Fragment:
    """Make a captured fragment of the one conversation that these tests know."""
    fields: dict[str, object] = {
        "conversation_id": CONVERSATION,
        "source": SOURCE,
        "source_id": SOURCE_ID,
        "origin": Origin.CAPTURE,
        "hosts": ("laptop",),
        "relative_path": path,
        "redactor_version": redactor,
        "events": list(events),
        **more,
    }
    return Fragment(**fields)  # type: ignore[arg-type]


def body(of: Fragment) -> Body:
    """Encode and hash a fragment."""
    data = encode_canonical(of)
    return Body(sha256=fragment_sha256(data), data=data)


def stamped(of: Fragment, hlc: int) -> Stamped:
    """Give a fragment the clock of the manifest that carried it."""
    return Stamped(fragment=of, sha256=body(of).sha256, hlc=hlc)


def bodies(count: int, size: int = 40) -> list[Body]:
    """Make fragments that differ, each with about so many characters of text."""
    return [
        body(fragment(event(str(number), number, (f"{number:x} " * size)[:size]))) for number in range(count)
    ]


def archive_in(state: Path, *, writable: bool = True) -> Archive:
    """Open the archive of a state directory as the node does."""
    folder = state / "canonical" / "segments"
    if writable:
        folder.mkdir(parents=True, exist_ok=True)
    return Archive(open_log(state / "canonical" / "feeds.db", writable=writable), SegmentDirectory(folder))


class StoppedClock(HybridClock):
    """A clock whose wall stands still, so that readings are small and known."""

    def __init__(self, now_ms: int = 1_000) -> None:
        super().__init__(now_ms=lambda: now_ms)
