"""`atrium search`, however its words were read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.searching import describe
from tests.cli.conftest import Said, Shell


def hits(said: Said) -> list[dict[str, object]]:
    found = said.document()["hits"]
    assert isinstance(found, list)
    return found


def test_a_search_is_scoped_to_where_one_stands(
    filled: Shell, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    inside = hits(filled.run("search", "idempotency", "--json"))
    assert inside
    elsewhere = filled.world.base / "other"
    (elsewhere / ".git").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    assert hits(filled.run("search", "idempotency", "--json")) == []
    assert hits(filled.run("search", "idempotency", "--all", "--json"))
    assert hits(filled.run("search", "idempotency", "--project", project, "--json")) == inside


def test_the_lane_is_the_one_asked_for(filled: Shell) -> None:
    assert filled.run("search", "empoten", "--words", "--json").document()["lane"] == "words"
    document = filled.run("search", "empoten", "--substring", "--json").document()
    assert document["hits"]
    assert hits(filled.run("search", "empoten", "--words", "--json")) == []


def test_words_are_one_question(filled: Shell) -> None:
    assert filled.run("search", "idempotency", "key", "--json").document()["query"] == "idempotency key"
    assert filled.run("search", "--json", "--", "--x").document()["query"] == "--x"


def test_people_read_age_source_and_text(filled: Shell) -> None:
    said = filled.run("search", "idempotency", "key").ok()
    first, second = said.out.splitlines()[:2]
    assert first.startswith("  1  ")
    assert " mo · " in first or " y · " in first
    assert " · codex · user · [HOME]/tidewatch" in first
    assert "idempotency" in second


def test_matches_are_set_apart_where_colour_is_wanted(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in filled.run("search", "idempotency").ok().out
    monkeypatch.setattr("cli.output._wants_colour", lambda: True)
    assert "\x1b[1midempotency\x1b[0m" in filled.run("search", "idempotency").ok().out


def test_nothing_found_says_what_to_try(filled: Shell) -> None:
    said = filled.run("search", "pelicanopolis").ok()
    assert said.out == ""
    assert "--all or --substring" in said.err
    assert "--all" not in filled.run("search", "pelicanopolis", "--all").ok().err
    assert "try --all\n" in filled.run("search", "pelicanopolis", "--substring").ok().err
    assert filled.run("search", "pelicanopolis", "--all", "--substring").ok().err == "nothing found\n"


def test_without_an_index_the_mend_is_named(shell: Shell) -> None:
    said = shell.run("search", "x", "--json")
    assert (said.rc, said.out) == (1, "")
    assert "atrium capture" in said.err


@pytest.mark.parametrize("words", [("",), (" \n",), ("x", "--limit", "0"), ("x", "--fusion", "none")])
def test_what_makes_no_sense_is_refused(filled: Shell, words: tuple[str, ...]) -> None:
    filled.run("search", *words).refused()


def test_a_hit_says_who_wrote_it_and_what_took_its_place() -> None:
    hit = {"provider": "memory", "role": "memory", "author": "local@desk", "superseded_by": "3f9a12c0" * 8}
    assert describe(hit) == "memory · memory · local@desk · superseded by 3f9a12c03f9a"
    assert describe(hit | {"author": None, "superseded_by": None}) == "memory · memory"
