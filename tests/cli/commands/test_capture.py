"""`atrium capture`."""

from __future__ import annotations

import pytest

from archivist.sample import SampleSearches
from tests.cli.conftest import Shell


def test_all_agents_of_the_home_are_captured(shell: Shell, sample: SampleSearches) -> None:
    document = shell.run("capture", "--json").document()
    assert document["conversations"] == sample.conversations
    assert document["redactions"] == 1
    providers = document["providers"]
    assert isinstance(providers, dict)
    assert set(providers) == {"claude-code", "codex"}
    assert sum(providers.values()) == sample.conversations


def test_people_read_a_sentence(shell: Shell, sample: SampleSearches) -> None:
    said = shell.run("capture").ok()
    assert f"of {sample.conversations} conversations" in said.out
    assert "1 secret redacted" in said.out
    assert "left out: " in said.err
    assert shell.run("capture").ok().out.startswith("nothing new")


def test_a_dry_run_stores_nothing(shell: Shell, sample: SampleSearches) -> None:
    assert shell.run("capture", "--dry-run").ok().out.startswith("would archive")
    assert shell.run("status", "--json").document()["records"] == {"total": 0, "bySource": {}}
    assert shell.run("capture", "--json").document()["conversations"] == sample.conversations


def test_one_provider_alone(shell: Shell, sample: SampleSearches) -> None:
    document = shell.run("capture", "--provider", "codex", "--json").document()
    providers = document["providers"]
    assert isinstance(providers, dict)
    assert list(providers) == ["codex"]


def test_another_root(shell: Shell, sample: SampleSearches) -> None:
    root = sample.roots["codex"][0]
    moved = shell.world.base / "moved"
    shell.world.home.rename(moved)
    assert shell.run("capture", "--json").document()["conversations"] == 0
    there = root.replace(str(shell.world.home), str(moved))
    document = shell.run("capture", "--provider", "codex", "--root", there, "--json").document()
    assert document["conversations"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--provider", "wrong"), ("`wrong`", "claude-code, codex")),
        (("--root", "."), ("exactly one --provider",)),
        (("--root", ".", "--provider", "codex", "--provider", "generic"), ("exactly one --provider",)),
        (("--root", "absent", "--provider", "codex"), ("absent", "no directory")),
        (("--since", "yesterday"), ("yesterday", "YYYY-MM-DD")),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(shell: Shell, words: tuple[str, ...], named: tuple[str, ...]) -> None:
    shell.run("capture", *words).refused(*named)
