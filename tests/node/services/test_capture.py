"""The capture use-case: its document, its stamp, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archivist import batch
from archivist.sealing import QUIET_MS
from crdt.clock import wall_ms
from crdt.errors import BadInput
from node.services import upkeep
from node.services.capture import handle
from node.services.catalog import USE_CASES
from node.services.requests import CaptureRequest
from retrieval.models import Deadline, Filter
from tests.node.filled import tree
from tests.node.little_room import little_room_after, stopped_by_little_room
from tests.retrieval.archive_kit import Indexed, ignore


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    (tmp_path / "transcripts").mkdir()
    write(made, ["where is the crane", "password: hunter2hunter2"])
    return made


def write(indexed: Indexed, texts: list[str], name: str = "a") -> None:
    """Write a transcript of the generic form."""
    events = [{"id": f"m{n}", "role": "user", "text": text} for n, text in enumerate(texts)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (indexed.root / "transcripts" / f"{name}.jsonl").write_text(lines)


def capture(indexed: Indexed, **more: object) -> dict[str, object]:
    """Capture what was written."""
    request = CaptureRequest(roots={"generic": [str(indexed.root / "transcripts")]}, **more)
    with indexed.opened(writable=True) as local:
        return handle(local, request, ignore)


def test_the_document_counts_what_was_read(indexed: Indexed) -> None:
    document = capture(indexed)
    counts = {key: document[key] for key in ("conversations", "events", "redactions", "unchanged", "records")}
    assert counts == {"conversations": 1, "events": 2, "redactions": 1, "unchanged": 0, "records": 2}
    assert document["providers"] == {"generic": 1}
    assert (indexed.state / "last-refresh").read_text().isdecimal()


def test_a_second_run_finds_nothing_new_and_stamps_all_the_same(indexed: Indexed) -> None:
    capture(indexed)
    (indexed.state / "last-refresh").write_text("1")
    document = capture(indexed)
    assert (document["events"], document["unchanged"]) == (0, 1)
    assert (indexed.state / "last-refresh").read_text() != "1"


def test_a_dry_run_counts_and_keeps_nothing(indexed: Indexed) -> None:
    assert capture(indexed, dry_run=True)["events"] == 2
    assert not (indexed.state / "canonical" / "feeds.db").exists()
    assert not (indexed.state / "last-refresh").exists()


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01"])
def test_a_date_that_is_none_is_refused_and_stamps_nothing(indexed: Indexed, since: str) -> None:
    with pytest.raises(BadInput, match=since):
        capture(indexed, since=since)
    assert not (indexed.state / "last-refresh").exists()


def test_a_second_run_writes_nothing_but_the_stamp(indexed: Indexed) -> None:
    capture(indexed)
    before = tree(indexed.state)
    capture(indexed)
    after = tree(indexed.state)
    assert {**after, "last-refresh": b""} == {**before, "last-refresh": b""}


def test_a_dry_run_of_a_reader_makes_nothing_at_all(indexed: Indexed) -> None:
    request = CaptureRequest(roots={"generic": [str(indexed.root / "transcripts")]}, dry_run=True)
    assert request.is_dry_run
    assert not USE_CASES["capture"].needs_to_write(request)
    with indexed.opened() as local:
        assert handle(local, request, ignore)["redactions"] == 1
    assert not indexed.state.exists()


def test_a_dry_run_after_a_capture_counts_what_is_new(indexed: Indexed) -> None:
    capture(indexed)
    write(indexed, ["where is the crane", "password: hunter2hunter2", "by the pier"])
    before = tree(indexed.state)
    document = capture(indexed, dry_run=True)
    assert (document["events"], document["unchanged"]) == (1, 0)
    assert tree(indexed.state) == before
    assert capture(indexed)["events"] == 1


def test_quiet_seals_what_waits(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    capture(indexed)
    with indexed.opened() as local:
        assert len(local.archive.log.tails()) == 1
    monkeypatch.setattr(upkeep, "wall_ms", lambda: wall_ms() + QUIET_MS)
    capture(indexed)
    with indexed.opened() as local:
        assert local.archive.log.tails() == []
        assert len(local.archive.current()) == 1
        with local.reader() as reader:
            assert reader.meta("archive_seq") == local.archive.log.head()


def test_what_was_captured_is_found_by_words_and_by_letters(indexed: Indexed) -> None:
    capture(indexed)
    with indexed.reader() as reader:
        assert reader.has_substring_lane
        found = reader.substrings("he cran", Filter(), 5, Deadline())
        assert [hit.text for hit in reader.hits(found.candidates, "substrings")] == ["where is the crane"]


def test_progress_names_its_phases(indexed: Indexed) -> None:
    told: list[object] = []
    request = CaptureRequest(roots={"generic": [str(indexed.root / "transcripts")]})
    with indexed.opened(writable=True) as local:
        handle(local, request, lambda document: told.append(document["phase"]))
    assert {"capture", "substrings"} <= set(told)


def test_the_last_sign_of_reading_says_that_all_is_read(indexed: Indexed) -> None:
    path = next((indexed.root / "transcripts").glob("*"))
    with path.open("a") as file:
        file.write('{"half a line')
    told: list[dict[str, object]] = []
    request = CaptureRequest(roots={"generic": [str(indexed.root / "transcripts")]})
    with indexed.opened(writable=True) as local:
        handle(local, request, told.append)
    last = [document for document in told if document["phase"] == "capture"][-1]
    assert last["done"] == last["total"] == path.stat().st_size


def test_a_directory_that_is_not_there_is_no_trouble(indexed: Indexed) -> None:
    request = CaptureRequest(roots={"generic": [str(indexed.root / "absent")], "codex": []})
    with indexed.opened(writable=True) as local:
        assert handle(local, request, ignore)["events"] == 0


def test_older_sources_are_left_for_another_time(indexed: Indexed) -> None:
    assert capture(indexed, since="2999-01-01")["skipped"] == {"older than --since": 1}
    assert capture(indexed)["events"] == 2


def test_an_unknown_provider_is_named(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local, pytest.raises(BadInput, match="telepathy"):
        handle(local, CaptureRequest(roots={"telepathy": ["/"]}), ignore)


def test_little_room_ends_a_capture_between_two_sources_and_the_next_goes_on(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "SEGMENT_FRAGMENTS_MAX", 1)
    for name in "bcd":
        write(indexed, [f"the pier of {name}"], name)
    with stopped_by_little_room(0):
        capture(indexed)
    assert not (indexed.state / "canonical" / "feeds.db").exists()
    with stopped_by_little_room(3):
        capture(indexed)
    with indexed.opened() as local:
        assert len(local.archive.current()) == 2
    document = capture(indexed)
    assert (document["unchanged"], document["conversations"]) == (2, 2)
    with indexed.reader() as reader:
        assert reader.by_source() == {"generic": 5}


def test_a_dry_run_needs_no_room(indexed: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    little_room_after(monkeypatch, 0)
    assert capture(indexed, dry_run=True)["events"] == 2
