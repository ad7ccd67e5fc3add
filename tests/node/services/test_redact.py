"""The redact use-case: a dry run tells, an applied one leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.services.redact import handle
from node.services.requests import RedactRequest
from tests.retrieval.archive_kit import Indexed, body, ignore

SECRET = "hunter2" * 2


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    """Give a state in which an older redactor let a password through."""
    return Indexed(tmp_path).tell(body("leak", [f"password: {SECRET}", "noted"]), body("pier", ["the pier"]))


def redact(indexed: Indexed, *, apply: bool) -> dict[str, object]:
    with indexed.opened(writable=True) as local:
        return handle(local, RedactRequest(apply=apply), ignore)


def segments(indexed: Indexed) -> list[str]:
    return sorted(path.name for path in (indexed.state / "canonical" / "segments").glob("??/*.zst"))


def test_a_dry_run_tells_and_changes_nothing(indexed: Indexed) -> None:
    before = segments(indexed)
    document = redact(indexed, apply=False)
    assert (document["changed"], document["redactions"], document["applied"]) == (1, 1, False)
    assert segments(indexed) == before


def test_an_applied_run_takes_the_secret_out_of_every_file(indexed: Indexed) -> None:
    before = segments(indexed)
    assert redact(indexed, apply=True)["changed"] == 1
    assert not set(before) & set(segments(indexed))
    databases = [path for path in indexed.state.rglob("*.db*") if path.is_file()]
    assert databases
    assert not [path.name for path in databases if SECRET.encode() in path.read_bytes()]
    with indexed.reader() as reader:
        texts = [hit.text for hit in reader.by_prefix("")]
    assert "password: [REDACTED:secret]" in texts


def test_a_second_run_has_nothing_to_do(indexed: Indexed) -> None:
    redact(indexed, apply=True)
    before = segments(indexed)
    assert redact(indexed, apply=True)["changed"] == 0
    assert segments(indexed) == before
