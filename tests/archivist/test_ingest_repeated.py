"""A file that holds a conversation on several lines: they are merged, and copies add nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from archivist.ingest import IngestReport, IngestState, ingest
from archivist.known import KnownEvents
from archivist.redact import Redactor
from crdt.events import ARCHIVE_KIND, ARCHIVE_SCHEMA
from crdt.ids import conversation_id, event_id
from tests.node.filled import opened


def line_of(session: str, numbers: Sequence[int]) -> bytes:
    """Write the line of a conversation with the messages of these numbers."""
    conversation = conversation_id("claude-code", session)
    events = [
        {"id": event_id(conversation, str(number)), "kind": "message", "role": "user",
         "text": f"heron {number} of {session}", "timestamp": f"2026-01-01T00:00:{number:02}.000Z"}
        for number in numbers
    ]  # fmt: skip
    return msgspec.json.encode(
        {"schemaVersion": ARCHIVE_SCHEMA, "id": conversation, "source": "claude-code", "sourceId": session,
         "title": session, "provenance": {}, "events": events}
    )  # fmt: skip


def take_in(root: Path, lines: Sequence[bytes]) -> tuple[IngestReport, list[str], dict[str, int]]:
    """Ingest a file of these lines: the report, what is remembered to the end, records by source."""
    body = b"".join(line + b"\n" for line in lines)
    manifest = {
        "kind": ARCHIVE_KIND, "schemaVersion": ARCHIVE_SCHEMA, "records": len(lines),
        "contentSha256": hashlib.sha256(body).hexdigest(), "complete": True,
    }  # fmt: skip
    path = root.parent / "archive.jsonl"
    path.write_bytes(msgspec.json.encode(manifest) + b"\n" + body)
    with opened(root, writable=True) as local:
        known = _Watched(local.catalog())
        state = IngestState(
            archive=local.archive, known=known, redactor=Redactor([]), known_lines={}, standing={}
        )
        report = ingest(state, path, partial=True)
        local.follower.catch_up()
        with local.reader() as reader:
            return report, known.remembered, reader.by_source()


class _Watched(KnownEvents):
    """Notes which conversations are remembered."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.remembered: list[str] = []

    def add(self, made: object) -> None:
        """Remember as usual."""
        items = list(made)  # type: ignore[call-overload]
        self.remembered += [item.fragment.source_id for item in items]
        super().add(items)


def test_lines_of_one_conversation_are_merged(tmp_path: Path) -> None:
    lines = [line_of("a", [0, 1, 2]), line_of("b", [0]), line_of("a", [1, 2, 3, 4])]
    report, _, records = take_in(tmp_path / "state", lines)
    assert (report.conversations, report.unchanged, records) == (3, 0, {"claude-code": 6})


@pytest.mark.parametrize("later", [[0, 1, 2], [2], [1, 0]])
def test_a_copy_later_in_the_file_adds_nothing(tmp_path: Path, later: list[int]) -> None:
    lines = [line_of("a", [0, 1, 2]), line_of("b", [0]), line_of("a", later)]
    report, _, records = take_in(tmp_path / "state", lines)
    assert (report.conversations, report.unchanged, records) == (3, 1, {"claude-code": 4})


def test_only_repeated_conversations_are_kept_in_memory(tmp_path: Path) -> None:
    lines = [line_of(name, [0]) for name in "abcdef"]
    _, remembered, _ = take_in(tmp_path / "state", [*lines, line_of("c", [1])])
    assert remembered == ["c", "c"]
