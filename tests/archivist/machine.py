"""One machine for the tests of capture and ingest: transcripts of the generic form, an archive, an index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from archivist.capture import CaptureOptions, CaptureReport, CaptureState, Roots, capture
from archivist.fragments import FragmentMaker
from archivist.ingest import IngestReport, IngestState, Seen, Standing, ingest
from archivist.known import KnownEvents
from archivist.providers import PROVIDERS
from archivist.providers.base import Provider
from archivist.redact import Redactor
from crdt.events import Conversation
from crdt.ids import conversation_id, event_id
from crdt.union import union
from node.local_store import LocalStore
from tests.retrieval.follow_kit import Kept

HOST = "harbour"
TEXTS = "SELECT t.text FROM records r JOIN texts t ON t.id = r.id ORDER BY r.conversation, r.event_index"
STANDING = "SELECT conversation_id, source, removed_hlc, captured FROM conversations WHERE population = 0"


class Machine:
    """Transcripts below `root / "transcripts"`, what was kept of them below `root / "kept"`."""

    def __init__(self, root: Path) -> None:
        """Make an empty machine."""
        self.root = root
        self.transcripts = root / "transcripts"
        self.transcripts.mkdir(parents=True)
        self.kept = Kept(root / "kept")
        self.store = LocalStore(root / "local.db", writable=True)
        self.redactor = Redactor([str(root / "home")])
        self.provider: Provider = PROVIDERS["generic"]
        self.ingested: list[Seen] = []

    def write(self, name: str, *events: str | Mapping[str, object], more: bool = False) -> Path:
        """Write a transcript of events, or add to it: texts of the user's, or lines as they are."""
        path = self.transcripts / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = path.read_bytes() if more else b""
        first = known.count(b"\n")
        lines = [line(event, first + place) for place, event in enumerate(events)]
        path.write_bytes(known + b"".join(lines))
        return path

    @property
    def state(self) -> CaptureState:
        """Give what a capture works on."""
        return CaptureState(
            archive=self.kept.archive,
            follower=self.kept.follower,
            catalog=self.kept.catalog,
            cursors=self.store,
            maker=self.maker,
        )

    @property
    def maker(self) -> FragmentMaker:
        """Give what makes fragments."""
        return FragmentMaker(self.redactor, HOST, self.root / "home", lambda folder: folder)

    @property
    def places(self) -> list[Roots]:
        """Name the one directory to capture from."""
        return [Roots(provider=self.provider, root=self.transcripts)]

    def capture(self, since_ns: int = 0) -> CaptureReport:
        """Capture, as the use-case does: the index is brought level first."""
        self.kept.follow()
        return capture(self.state, self.places, CaptureOptions(since_ns=since_ns))

    def ingest(self, path: Path, *, partial: bool = False) -> IngestReport:
        """Ingest, as the use-case does."""
        self.kept.follow()
        state = IngestState(
            archive=self.kept.archive,
            known=KnownEvents(self.kept.catalog),
            redactor=self.redactor,
            known_lines={seen.sha256: seen.conversation_id for seen in self.ingested},
            standing=self.standing(),
        )
        report = ingest(state, path, partial=partial)
        self.ingested += report.lines
        self.kept.follow()
        return report

    def standing(self) -> dict[str, Standing]:
        """Tell what conversations there are."""
        rows = self.kept.index.connection.execute(STANDING).fetchall()
        return {
            identity.hex(): Standing(
                conversation_id=identity.hex(), source=source, is_removed=bool(removed),
                is_captured=bool(captured),
            )
            for identity, source, removed, captured in rows
        }  # fmt: skip

    def conversation(self, name: str, source: str = "generic") -> Conversation:
        """Merge all that the archive has of a conversation."""
        row = self.kept.catalog.find(conversation_id(source, name))
        assert row is not None, name
        return union(self.kept.catalog.fragments(row)).conversation

    def texts(self) -> list[str]:
        """List what is indexed, conversation by conversation."""
        return [text for (text,) in self.kept.index.connection.execute(TEXTS)]

    def fragments(self) -> int:
        """Count the fragments in the archive, each as often as a manifest brought it."""
        current = self.kept.archive.current()
        sealed = sum(len(segment.fragments) for segment in current.values())
        return sealed + len(self.kept.archive.log.tails())

    def close(self) -> None:
        """Close the stores."""
        self.kept.close()
        self.store.close()


def line(event: str | Mapping[str, object], place: int) -> bytes:
    """Make a line of a transcript."""
    said = {"text": event} if isinstance(event, str) else event
    at = f"2026-03-01T08:{place // 60:02d}:{place % 60:02d}.000Z"
    made = {"id": f"e{place}", "role": "user", "timestamp": at, **said}
    return json.dumps(made, ensure_ascii=False).encode() + b"\n"


def said(name: str, *texts: str, source: str = "codex", **more: object) -> dict[str, object]:
    """Make a conversation of an archive file, of version 2 unless told otherwise."""
    identity = conversation_id(source, name)
    qualified = more.get("schemaVersion", 2) == 2
    events = [
        {
            "id": event_id(identity, f"m{place}") if qualified else f"m{place}",
            "kind": "message",
            "role": "user",
            "text": text,
            "timestamp": f"2026-03-01T08:00:{place:02d}.000Z",
        }
        for place, text in enumerate(texts)
    ]
    made: dict[str, object] = {"id": identity, "source": source, "sourceId": name, "schemaVersion": 2}
    return {**made, "events": events, **more}


def archive_file(
    path: Path, conversations: Iterable[Mapping[str, object] | bytes], **manifest: object
) -> Path:
    """Write an archive file with a right manifest, apart from what is given of it."""
    lines: Sequence[bytes] = [
        one if isinstance(one, bytes) else json.dumps(one, ensure_ascii=False).encode()
        for one in conversations
    ]
    body = b"".join(data + b"\n" for data in lines)
    head = {
        "kind": "rocket-agents-conversation-export",
        "schemaVersion": 2,
        "records": len(lines),
        "contentSha256": hashlib.sha256(body).hexdigest(),
        **manifest,
    }
    path.write_bytes(json.dumps(head).encode() + b"\n" + body)
    return path
