"""The capture use-case: its document, its stamp, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crdt.errors import BadInput
from node.services.capture import handle
from node.services.requests import CaptureRequest
from tests.retrieval.archive_kit import Indexed, ignore


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    made = Indexed(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    (tmp_path / "transcripts").mkdir()
    write(made, ["where is the crane", "password: hunter2hunter2"])
    return made


def write(indexed: Indexed, texts: list[str]) -> None:
    """Write a transcript of the generic form."""
    events = [{"id": f"m{n}", "role": "user", "text": text} for n, text in enumerate(texts)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (indexed.root / "transcripts" / "a.jsonl").write_text(lines)


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


def test_older_sources_are_left_for_another_time(indexed: Indexed) -> None:
    assert capture(indexed, since="2999-01-01")["skipped"] == {"older than --since": 1}
    assert capture(indexed)["events"] == 2


def test_an_unknown_provider_is_named(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local, pytest.raises(BadInput, match="telepathy"):
        handle(local, CaptureRequest(roots={"telepathy": ["/"]}), ignore)
