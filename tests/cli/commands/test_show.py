"""`atrium show`, of what a search found."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.cli.test_searching import hits


def test_a_hit_is_shown_by_its_number(filled: Shell) -> None:
    first = hits(filled.run("search", "idempotency", "key", "--json"))[0]
    filled.run("search", "idempotency", "key").ok()
    document = filled.run("show", 1, "--json").document()
    record = document["record"]
    assert isinstance(record, dict)
    assert record["record_id"] == first["record_id"]
    said = filled.run("show", 1).ok()
    assert "▶ " in said.out
    assert str(first["text"])[:40] in said.out


def test_a_record_is_shown_by_the_beginning_of_its_id(filled: Shell) -> None:
    identity = str(hits(filled.run("search", "idempotency", "--json"))[0]["record_id"])
    by_prefix = filled.run("show", identity[:16], "--json").document()
    assert by_prefix == filled.run("show", identity, "--json").document()
    assert len(filled.run("show", identity, "--around", 0).ok().out.split("▶")) == 2


@pytest.mark.parametrize("record", ["99", "zzzz", "abc", "f" * 64])
def test_a_record_that_is_not_there_is_refused(filled: Shell, record: str) -> None:
    filled.run("search", "idempotency").ok()
    filled.run("show", record).refused()


def test_without_a_search_there_is_no_number(filled: Shell) -> None:
    filled.run("show", "1").refused("no search is remembered")
