"""Files too large, closed, no files at all or changing: bounded, named, and nothing half-applied."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from node.composition import open_local
from node.services import capture
from node.services.requests import CaptureRequest
from tests.e2e.commands import UNPRIVILEGED, run, run_all
from tests.e2e.odd import archive, line, prompt, skipped, texts, transcripts
from tests.e2e.states import settings
from tests.kit import World

TEN_GB = 10_000_000_000
SPARE_BYTES = 2 << 30
RSS_BYTES_MAX = 400 << 20
SECONDS_MAX = 30
"""Of one command on ten gigabytes, on a busy machine; alone it takes two."""
LARGE_LINE = 100_000_000


def hole(path: Path, *, before: bytes = b"", after: bytes = b"") -> Path:
    """Write a file of ten gigabytes that takes no space, or skip where that isn't possible."""
    with path.open("wb") as stream:
        stream.write(before)
        stream.truncate(TEN_GB)
        stream.seek(0, os.SEEK_END)
        stream.write(after)
    if path.stat().st_blocks * 512 > 1 << 20 or shutil.disk_usage(path.parent).free < SPARE_BYTES:
        path.unlink()
        pytest.skip("this disk has no sparse files, or no room to be careless")
    return path


# Size


def test_ten_gigabytes_take_neither_memory_nor_minutes(world: World) -> None:
    hole(
        transcripts(world) / "large.jsonl",
        before=line(prompt("u1", "before the sluice")),
        after=b"\n" + line(prompt("u2", "behind the sluice")),
    )
    notes = world.work / "notes"
    notes.mkdir()
    (notes / "small.md").write_text("# Sluice\n\nThe sluice of the notes.\n")
    hole(notes / "large.md")
    manifest = archive(world.work / "m.jsonl", [], records=1).read_bytes()
    steps = (
        ["capture", "--json"],
        ["capture", "--json"],
        ["ingest", str(hole(world.work / "nothing.jsonl"))],
        ["ingest", str(hole(world.work / "archive.jsonl", before=manifest))],
        ["ingest-notes", str(notes), "--json"],
        ["search", "--all", "--json", "sluice"],
    )
    began_s = time.monotonic()
    said = run_all(world, steps)
    assert time.monotonic() - began_s < SECONDS_MAX
    assert max(one.rss_bytes for one in said) < RSS_BYTES_MAX
    first, again, nothing, cut, noted, found = said
    assert skipped(first) == {"record over 64 MiB": 1}
    assert again.document()["unchanged"] == 1
    nothing.refused(2, "line 1 of nothing.jsonl")
    cut.refused(2, "line 2 of archive.jsonl is longer than")
    assert skipped(noted) == {"note over 8 MiB": 1}
    assert texts(found) == {"before the sluice", "behind the sluice", "# Sluice\n\nThe sluice of the notes."}


def test_lines_of_a_hundred_megabytes_leave_their_neighbours_whole(world: World) -> None:
    folder = transcripts(world)
    with (folder / "message.jsonl").open("wb") as stream:
        stream.write(line(prompt("u1", "before the message")))
        stream.write(line(prompt("u2", "x" * LARGE_LINE)) + line(prompt("u3", "behind the message")))
    with (folder / "garbage.jsonl").open("wb") as stream:
        stream.write(b"\x9f\x01" * (LARGE_LINE // 2) + b"\n" + line(prompt("u4", "behind the garbage")))
    captured, found = run_all(
        world, [["capture", "--json"], ["search", "--all", "--json", "message garbage"]]
    )
    assert captured.rss_bytes < RSS_BYTES_MAX
    assert skipped(captured) == {"record over 64 MiB": 2}
    assert texts(found) == {"before the message", "behind the message", "behind the garbage"}


# What can't be read, and what is no file


def before_modes_count() -> tuple[str, ...]:
    """Give the words before a command that has to obey modes, or skip where root can't be made to."""
    if os.geteuid() != 0:
        return ()
    try:
        done = subprocess.run([*UNPRIVILEGED, "true"], capture_output=True, timeout=20, check=False)
    except FileNotFoundError:
        pytest.skip("root passes by modes, and there is no setpriv here")
    if done.returncode != 0:
        pytest.skip("root passes by modes, and this one may not give that up")
    return UNPRIVILEGED


def test_closed_directories_and_files_are_named_and_captured_once_they_open(world: World) -> None:
    before = before_modes_count()
    open_folder, closed = transcripts(world), world.home / ".claude" / "projects" / "-closed"
    closed.mkdir()
    (open_folder / "a.jsonl").write_bytes(line(prompt("u1", "an open sluice")))
    (open_folder / "b.jsonl").write_bytes(line(prompt("u2", "a closed file")))
    (closed / "c.jsonl").write_bytes(line(prompt("u3", "a closed directory")))
    notes = world.work / "notes"
    (notes / "shut").mkdir(parents=True)
    (notes / "shut" / "a.md").write_text("# Shut\n")
    secret = world.work / "secret.jsonl"
    archive(secret, [])
    secret.chmod(0)
    shut, opened = "chmod 0 {0}/b.jsonl {1} {2}/shut", "chmod 700 {0}/b.jsonl {1} {2}/shut"
    said = run_all(
        world,
        [
            ["ingest-notes", str(notes), "--json"],
            shut.format(open_folder, closed, notes),
            ["capture"],
            ["capture", "--json"],
            ["ingest-notes", str(notes), "--json"],
            ["ingest", str(secret)],
            ["export", str(closed / "x.jsonl")],
            ["doctor"],
            opened.format(open_folder, closed, notes),
            ["capture", "--json"],
            ["search", "--all", "--json", "open", "closed"],
        ],
        before=before,
    )
    _, people, again, noted, refused, unwritten, doctor, more, found = said
    assert "unreadable directory 1" in people.ok().err
    assert "can't be read: -closed, -srv-harbour/b.jsonl" in people.err
    assert again.document()["unreadable"] == ["-closed", "-srv-harbour/b.jsonl"]
    assert (noted.document()["removed"], noted.document()["unreadable"]) == (0, ["shut"])
    refused.refused(2, "secret.jsonl can't be read", "permissions")
    unwritten.refused(2, "x.jsonl can't be written")
    doctor.ok()
    assert (more.document()["events"], skipped(more)) == (2, {})
    assert texts(found) == {"an open sluice", "a closed file", "a closed directory"}


def test_links_pipes_devices_and_sockets_are_passed_by(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = transcripts(world)
    (folder / "a.jsonl").write_bytes(line(prompt("u1", "the sluice")))
    outside = world.work / "outside"
    outside.mkdir()
    (outside / "o.jsonl").write_bytes(line(prompt("u2", "outside the root")))
    (folder / "loop").symlink_to("..", target_is_directory=True)
    (folder / "self").symlink_to("self")
    (folder / "self.jsonl").symlink_to("self.jsonl")
    (folder / "out").symlink_to(outside, target_is_directory=True)
    (folder / "out.jsonl").symlink_to(outside / "o.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        monkeypatch.chdir(folder)
        listener.bind("socket.jsonl")
    if os.geteuid() == 0:
        os.mknod(folder / "endless.jsonl", 0o600 | 0o020000, os.makedev(1, 5))
    pipe = str(folder / "pipe.jsonl")
    captured, ingested, written = run_all(world, [["capture", "--json"], ["ingest", pipe], ["export", pipe]])
    assert (captured.document()["events"], skipped(captured)) == (1, {})
    ingested.refused(2, "pipe.jsonl is no regular file")
    written.refused(2, "pipe.jsonl is no regular file")
    assert (folder / "pipe.jsonl").is_fifo()


# Changed under our hands


@pytest.fixture
def quick(quick_path: Path) -> World:
    return World(quick_path / "quick")


def digest(world: World) -> object:
    return run(world, "status", "--json").document()["digest"]


def undisturbed_digest(base: Path, files: Mapping[str, bytes]) -> object:
    """Give the digest of these transcripts where nothing happened while they were captured."""
    quiet = World(base)
    for name, data in files.items():
        (transcripts(quiet) / name).write_bytes(data)
    return run_all(quiet, [["capture"], ["status", "--json"]])[1].document()["digest"]


def captured_with(world: World, change: Callable[[], object]) -> None:
    """Capture in this process, and change something as soon as the first piece of a file was read."""
    changes = [change]

    def progress(_document: dict[str, object]) -> None:
        if changes:
            changes.pop()()

    folder = str(world.home / ".claude" / "projects")
    with closing(open_local(settings(world), writable=True)) as local:
        capture.handle(local, CaptureRequest(roots={"claude-code": [folder]}), progress)
    assert not changes


def result(number: int) -> bytes:
    """Make a message of a user, and what a tool returned, which fills the file."""
    output = {"content": [{"type": "tool_result", "content": "x" * 40_000}]}
    return line(prompt(f"u{number}", f"sluice {number}")) + line(prompt(f"r{number}", "", message=output))


def replace(path: Path) -> None:
    path.rename(path.with_name("kept"))
    path.write_bytes(LATE)


def grow(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(LATE)


WHOLE = b"".join(result(number) for number in range(150))
"""Six megabytes: more than is read before the first sign of progress."""
LATE = line(prompt("late", "a late sluice"))
CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": lambda path: os.truncate(path, 100),
    "deleted": Path.unlink,
    "replaced": replace,
    "grown": grow,
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_file_that_changes_while_it_is_read_is_right_in_the_end(quick: World, what: str) -> None:
    path = transcripts(quick) / "a.jsonl"
    path.write_bytes(WHOLE)
    captured_with(quick, lambda: CHANGES[what](path))
    path.write_bytes(WHOLE + LATE)
    captured, status = run_all(quick, [["capture"], ["status", "--json"]])
    captured.ok()
    expected = undisturbed_digest(quick.base / "quiet", {"a.jsonl": WHOLE + LATE})
    assert status.document()["digest"] == expected


def test_two_captures_at_once_are_one(quick: World) -> None:
    files = {
        f"{number}.jsonl": b"".join(
            line(prompt(f"{number}-{n}", f"sluice {n}", sessionId=f"s{number}")) for n in range(20)
        )
        for number in range(40)
    }
    for name, data in files.items():
        (transcripts(quick) / name).write_bytes(data)
    both = [
        subprocess.Popen(
            quick.command("capture"),
            env=quick.environment(),
            cwd=quick.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
    assert digest(quick) == undisturbed_digest(quick.base / "quiet", files)


# The clock


def test_a_clock_in_1970_costs_ages_and_nothing_else(quick: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = transcripts(quick) / "a.jsonl"
    first, second, third = (line(prompt(f"u{n}", f"sluice {n}")) for n in range(3))
    path.write_bytes(first)
    run(quick, "capture").ok()
    path.write_bytes(first + second)
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 1000.0)
        patch.setattr(time, "time_ns", lambda: 1000 * 10**9)
        captured_with(quick, lambda: None)
    assert (quick.state / "last-refresh").read_text() == "1000"
    path.write_bytes(first + second + third)
    doctor, captured, healthy, status = run_all(
        quick, [["doctor", "--json"], ["capture"], ["doctor", "--json"], ["status", "--json"]]
    )
    assert b"refresh_dead" in doctor.out
    captured.ok()
    assert healthy.document()["ok"] is True
    expected = undisturbed_digest(quick.base / "quiet", {"a.jsonl": first + second + third})
    assert status.document()["digest"] == expected
