"""`atrium compact`: a dry run, and nothing else yet."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell


def test_a_dry_run_says_what_could_go(shell: Shell) -> None:
    shell.run("memory", "add", "first").ok()
    said = shell.run("compact", "--older-than", "30d", "--dry-run").ok().out
    assert "0 versions of 0 records" in said
    assert said.endswith("nothing was dropped\n")
    assert shell.run("compact", "--dry-run", "--json").document()["olderThanDays"] == 90


def test_without_dry_run_it_refuses(shell: Shell) -> None:
    shell.run("compact").refused("--dry-run")


@pytest.mark.parametrize("days", ["soon", "0", "-3d", "1000000"])
def test_what_is_no_number_of_days_is_refused(shell: Shell, days: str) -> None:
    shell.run("compact", "--older-than", days, "--dry-run").refused("days")
