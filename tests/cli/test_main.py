"""The way in: status and output of the whole process."""

from __future__ import annotations

import subprocess
import sys

from tests.kit import CHECKOUT, World


def run(world: World, *words: str, closed: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own, with a standard stream closed where named (`1>&-`)."""
    line = 'exec "$0" -m cli.main "$@" ' + closed
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *words],
        capture_output=True,
        timeout=60,
        check=False,
        env=world.environment(),
        stdin=subprocess.DEVNULL,
    )


def test_an_unknown_command_is_two_lines_and_status_2(world: World) -> None:
    done = run(world, "serch", "x")
    assert (done.returncode, done.stdout) == (2, b"")
    assert 1 <= len(done.stderr.splitlines()) <= 3


def test_an_error_of_the_tree_has_its_status_and_its_hint(world: World) -> None:
    done = run(world, "search", "x", "--all", "--json")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"atrium: ")
    assert b"hint: " in done.stderr


def test_closed_streams_are_borne(world: World) -> None:
    for closed in ("0<&-", "1>&-", "2>&-"):
        assert run(world, "status", closed=closed).returncode == 0, closed


def test_bytes_that_are_no_characters_are_borne_and_echoed_escaped(world: World) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", b"ingest", b"absent-\xff.jsonl"],
        capture_output=True,
        timeout=60,
        check=False,
        env=world.environment(),
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"absent-" in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.decode("utf-8")


def test_ctrl_c_within_code_that_is_made_at_run_time_ends_as_any_other(world: World) -> None:
    """Python marks an interrupt that leaves `exec` of a string, and `python -m` ends by the signal then."""
    (world.work / "interrupted.py").write_text(
        "import sys, cli.group, cli.main\n"
        "def run(words):\n"
        "    from cli import exits\n"
        "    return exits.guarded(lambda: exec('raise KeyboardInterrupt'))\n"
        "cli.group.run = run\n"
        "sys.argv = ['atrium', 'status']\n"
        "cli.main.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        capture_output=True,
        timeout=60,
        check=False,
        env=world.environment() | {"PYTHONPATH": str(CHECKOUT)},
        cwd=world.work,
    )
    assert done.returncode == 130
    assert b"safe to run the same command again" in done.stderr
