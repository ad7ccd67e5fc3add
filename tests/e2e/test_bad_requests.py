"""Words that no command takes, streams that are closed, signals: the same answer with and without a node."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commands import BUGS, Said, run, run_all
from tests.e2e.odd import archive, conversation, line, prompt, transcripts
from tests.kit import World, wait_until

ENV = {"ATRIUM_PORT": "0", "ATRIUM_WATCH": "0"}
NOT_UTF8 = "\udcff"
LONG = "n" * 300
FULL = Path("/dev/full")


@pytest.fixture
def world(quick_path: Path) -> World:
    made = World(quick_path)
    (transcripts(made) / "a.jsonl").write_bytes(line(prompt("u1", "the first sluice")))
    (made.work / "file").write_text("x")
    run(made, "capture").ok()
    return made


@pytest.fixture
def node(world: World) -> Iterator[World]:
    """Give a world in which a node runs."""
    world.run("up", env=ENV).ok()
    yield world
    world.run("down", env=ENV)


REFUSED: tuple[tuple[list[str], tuple[str, ...]], ...] = (
    (["serach", "x"], ("`serach`", "`search`")),
    ([NOT_UTF8], ("no command",)),
    (["--nope"], ("--nope", "atrium --help")),
    (["search", "--limt", "3", "x"], ("--limt", "--limit")),
    (["search"], ("QUERY", "atrium search --help")),
    (["search", "--limit", "many", "x"], ("--limit", "many")),
    (["search", "--limit", "0", "x"], ("limit", "1 to 200")),
    (["search", "--limit", "9" * 30, "x"], ("limit", "1 to 200")),
    (["search", "  "], ("blank",)),
    (["search", "--fusion", "x", "y"], ("fusion", "convex")),
    (["search", "--project", "file", "x"], ("file", "no repository")),
    (["search", "--project", "none", "x"], ("none", "no repository")),
    (["search", "--project", "", "x"], ("empty",)),
    (["search", "--project", NOT_UTF8, "x"], ("not UTF-8",)),
    (["context", "--lane", "x", "y"], ("lane", "auto")),
    (["context", "--max-chars", "0", "y"], ("max-chars", "100000")),
    (["show", "xyz"], ("no record id",)),
    (["show", "ffff"], ("ffff", "atrium search")),
    (["show", "--around", "-1", "ffff"], ("around",)),
    (["gaps", "--days", "0"], ("days",)),
    (["capture", "--provider", "nobody"], ("nobody", "claude-code")),
    (["capture", "--root", "."], ("--root", "--provider")),
    (["capture", "--root", "", "--provider", "generic"], ("empty",)),
    (["capture", "--since", "never"], ("--since", "YYYY-MM-DD")),
    (["ingest"], ("FILE",)),
    (["ingest", "none.jsonl"], ("none.jsonl", "check the path")),
    (["ingest", "."], ("directory",)),
    (["ingest", LONG], ("can't be read",)),
    (["ingest", "file"], ("line 1 of file",)),
    (["ingest-notes", ""], ("empty",)),
    (["ingest-notes", "file"], ("is no directory",)),
    (["ingest-notes", LONG], ("too long", "check the path")),
    (["ingest-notes", ".", "--provider", NOT_UTF8], ("not UTF-8",)),
    (["ingest-notes", ".", "--exclude", NOT_UTF8], ("not UTF-8",)),
    (["ingest-notes", ".", "--provider", ""], ("--provider",)),
    (["export", "."], ("directory",)),
    (["export", ""], ("empty",)),
    (["export", "none/x.jsonl"], ("none", "make it first")),
    (["export", LONG], ("can't be written",)),
    (["export", os.devnull], ("no regular file",)),
    (["down", "extra"], ("extra",)),
    (["help", "serach"], ("`serach`", "`search`")),
)


def refusals(world: World) -> list[Said]:
    return run_all(world, [words for words, _ in REFUSED])


def test_what_no_command_takes_is_refused_with_what_was_meant(world: World) -> None:
    device = Path(os.devnull).stat()
    for said, (_, named) in zip(refusals(world), REFUSED, strict=True):
        said.refused(2, *named)
    assert Path(os.devnull).stat().st_rdev == device.st_rdev


def test_a_node_refuses_the_same_in_the_same_words(node: World) -> None:
    with_node = refusals(node)
    node.run("down", env=ENV).ok()
    without = refusals(node)
    assert [(said.rc, said.out, said.err) for said in with_node] == [
        (said.rc, said.out, said.err) for said in without
    ]


ODD_QUERIES = (
    "x" * 100_000,
    " ".join(f"word{n}" for n in range(15_000)),
    f"sluice{NOT_UTF8} \udced\udca0\udc80",
    "sluice \x01\x1b[31m\x7f\u202e",
    '"sluice" AND (own : NEAR* ^"',
    "\u0301" * 1000,
)


@pytest.mark.parametrize("kind", ["without a node", "with a node"])
def test_odd_questions_are_answered(world: World, kind: str) -> None:
    if kind == "with a node":
        world.run("up", env=ENV).ok()
    askings = (["search", "--all", "--json"], ["search", "--substring", "--json"], ["context", "--json"])
    asked = [[*words, "--", query] for words in askings for query in ODD_QUERIES]
    try:
        for said in run_all(world, asked):
            if said.rc != 0:
                said.refused(2, "blank")
            else:
                assert said.document()["schemaVersion"] == 1
    finally:
        world.run("down", env=ENV)


# Streams


def through_shell(world: World, redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command by a shell that closes or turns its streams."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", *world.command(*words)],
        env=world.environment(ENV),
        cwd=world.work,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_stop_nothing(world: World, closed: str) -> None:
    path = transcripts(world) / "a.jsonl"
    path.write_bytes(path.read_bytes() + line(prompt("u2", "the second sluice")))
    for words in (["capture"], ["search", "--all", "sluice"]):
        done = through_shell(world, closed, *words)
        assert (done.returncode, done.stderr) == (0, ""), done
    status, doctor = run_all(world, [["status", "--json"], ["doctor", "--deep"]])
    assert status.document()["records"] == {"total": 2, "bySource": {"claude-code": 2}}
    doctor.ok()


def test_a_reader_that_goes_away_ends_the_command_quietly(world: World) -> None:
    done = through_shell(world, "| true", "help")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_output_that_can_not_be_written_is_told(world: World) -> None:
    done = through_shell(world, f"> {FULL}", "status")
    assert done.returncode == 1
    assert done.stderr.startswith("atrium: No space left on device\n")


@pytest.mark.parametrize("columns", [1, 3])
def test_a_terminal_of_one_column_is_enough(world: World, columns: int) -> None:
    for words in (["--help"], ["search", "--all", "sluice"], ["rebuild"], ["doctor"]):
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            world.command(*words),
            env=world.environment({**ENV, "TERM": "xterm-256color"}),
            cwd=world.work,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b"".join(chunks(ours))
        assert process.wait(timeout=60) == 0, shown
        assert not [word for word in BUGS if word.encode() in shown]


def chunks(terminal: int) -> Iterator[bytes]:
    """Read what was shown until nobody has the terminal any more."""
    try:
        while chunk := os.read(terminal, 1 << 16):
            yield chunk
    except OSError:
        return
    finally:
        os.close(terminal)


# Signals


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_in_one_line_and_the_next_run_goes_on(
    world: World, number: signal.Signals, status: int
) -> None:
    several = [conversation(f"c{n}", title=f"harbour {n}") for n in range(6_000)]
    path = archive(world.work / "large.jsonl", several)
    process = subprocess.Popen(
        world.command("ingest", str(path)),
        env=world.environment(ENV),
        cwd=world.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lock = world.state / "local.lock"
    wait_until(lambda: lock.read_text() if lock.exists() else "", "the ingest has the state directory")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    # A process that ends by the signal itself is seen as the same status by a shell.
    assert process.returncode in (status, -number), (out, err)
    assert (out, len(err.splitlines())) == ("", 1)
    assert "safe to run the same command again" in err
    ingested, status_said = run_all(world, [["ingest", str(path), "--json"], ["status", "--json"]])
    assert ingested.document()["conversations"] == len(several)
    assert status_said.document()["records"] == {"total": 6_001, "bySource": {"claude-code": 6_001}}
