"""`atrium gaps`, which reads what `context` was asked."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_what_was_asked_in_vain_is_a_gap(filled: Shell) -> None:
    for query in ("pelicanopolis", "pelicanopolis", "zanzibar turnips", "idempotency key"):
        filled.run("context", query, "--json").ok()
    said = filled.run("gaps").ok()
    first, second = said.out.splitlines()[:2]
    assert "2x  pelicanopolis" in first
    assert "1x  zanzibar turnips" in second
    assert "served most" in said.out
    assert filled.run("gaps", "--json").document()["questions"] == 4


def test_without_questions_there_are_no_gaps(shell: Shell) -> None:
    assert "no gaps" in shell.run("gaps").ok().out
    shell.run("gaps", "--days", "0").refused()
