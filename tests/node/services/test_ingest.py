"""The ingest use-case: what it counts, what it sweeps and brings back, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import archivist.ingest
from archivist.sealing import QUIET_MS
from crdt import archive_file
from crdt.canonical import encode_canonical
from crdt.clock import wall_ms
from crdt.errors import ArchiveRefused, BadInput
from crdt.ids import conversation_id, event_id
from node.local_store import LocalStore
from node.services import upkeep
from node.services.ingest import handle
from node.services.requests import IngestRequest
from tests.node.filled import tree
from tests.node.little_room import stopped_by_little_room
from tests.retrieval.archive_kit import Indexed, ignore


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    return Indexed(tmp_path)


def conversation(name: str, text: str) -> bytes:
    """Make a line of an archive file."""
    identity = conversation_id("codex", name)
    event = {"id": event_id(identity, "m"), "kind": "message", "role": "user", "text": text}
    return encode_canonical(
        {"schemaVersion": 2, "id": identity, "source": "codex", "sourceId": name, "events": [event]}
    )


def ingest(indexed: Indexed, lines: Sequence[bytes], *, partial: bool = False) -> dict[str, object]:
    """Write an archive file and take it in."""
    path = indexed.root / "archive.jsonl"
    archive_file.write(path, lines)
    with indexed.opened(writable=True) as local:
        return handle(local, IngestRequest(path=str(path), partial=partial), ignore)


def counts(document: dict[str, object]) -> tuple[object, ...]:
    return tuple(document[key] for key in ("conversations", "written", "unchanged", "removed"))


def test_a_second_time_everything_is_unchanged(indexed: Indexed) -> None:
    lines = [conversation("a", "the pier"), conversation("b", "the crane")]
    assert counts(ingest(indexed, lines)) == (2, 2, 0, 0)
    assert counts(ingest(indexed, lines)) == (2, 0, 2, 0)


def test_an_unchanged_file_writes_nothing_but_the_stamp(indexed: Indexed) -> None:
    lines = [conversation("a", "the pier")]
    ingest(indexed, lines)
    before = tree(indexed.state)
    ingest(indexed, lines)
    after = tree(indexed.state)
    assert {**after, "last-refresh": b""} == {**before, "last-refresh": b""}


def test_what_is_admitted_and_rejected_is_counted(indexed: Indexed) -> None:
    document = ingest(indexed, [conversation("a", "the pier"), conversation("b", "ok")])
    assert document["admitted"] == {"codex": 1}
    assert document["rejected"] == {"empty or acknowledgement": 1}


def test_a_death_before_the_lines_are_remembered_costs_a_comparison(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [conversation("a", "the pier"), conversation("b", "the crane")]

    def die(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "add_ingested", die)
        with pytest.raises(KeyboardInterrupt):
            ingest(indexed, lines)
    with indexed.opened() as local:
        head = local.archive.log.head()
    assert counts(ingest(indexed, lines)) == (2, 0, 2, 0)
    with indexed.opened() as local:
        assert local.archive.log.head() == head
        assert len(local.local_store.ingested(local.redactor.version)) == 2


def test_quiet_seals_what_waits(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(indexed, [conversation("a", "the pier")])
    monkeypatch.setattr(upkeep, "wall_ms", lambda: wall_ms() + QUIET_MS)
    ingest(indexed, [conversation("a", "the pier")])
    with indexed.opened() as local:
        assert local.archive.log.tails() == []


def test_what_is_gone_is_swept_and_comes_back(indexed: Indexed) -> None:
    both = [conversation("a", "the pier"), conversation("b", "the crane")]
    ingest(indexed, both)
    assert counts(ingest(indexed, both[:1], partial=True))[3] == 0
    assert counts(ingest(indexed, both[:1]))[3] == 1
    with indexed.reader() as reader:
        assert reader.by_source() == {"codex": 1}
    ingest(indexed, both)
    with indexed.reader() as reader:
        assert reader.by_source() == {"codex": 2}


def test_a_corrected_conversation_is_served_corrected(indexed: Indexed) -> None:
    ingest(indexed, [conversation("a", "the pier is closed")])
    ingest(indexed, [conversation("a", "the pier is open")])
    with indexed.opened() as local, local.reader() as reader:
        texts = [hit.text for hit in reader.by_prefix("")]
    assert texts == ["the pier is open"]


def test_a_bad_line_changes_nothing_and_is_named(indexed: Indexed) -> None:
    ingest(indexed, [conversation("a", "the pier")])
    stamp = (indexed.state / "last-refresh").read_text()
    (indexed.state / "last-refresh").write_text("7")
    with pytest.raises(ArchiveRefused, match="line 3"):
        ingest(indexed, [conversation("b", "the crane"), b"{}"])
    assert stamp != "7" == (indexed.state / "last-refresh").read_text()
    with indexed.reader() as reader:
        assert reader.by_source() == {"codex": 1}


def test_no_file_is_bad_input(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local, pytest.raises(BadInput):
        handle(local, IngestRequest(path=""), ignore)


def test_little_room_ends_an_ingest_and_nothing_of_the_file_is_taken(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archivist.ingest, "SEGMENT_FRAGMENTS_MAX", 1)
    lines = [conversation(name, f"the pier of {name}") for name in "abc"]
    with stopped_by_little_room(0):
        ingest(indexed, lines)
    assert not (indexed.state / "canonical" / "feeds.db").exists()
    with stopped_by_little_room(7):
        ingest(indexed, lines)
    with indexed.opened() as local:
        assert (list(local.archive.segments.names()), local.archive.log.head()) == ([], 0)
    assert counts(ingest(indexed, lines)) == (3, 3, 0, 0)
