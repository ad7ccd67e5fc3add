"""A node whose clock is wrong, that is told to end amid a thousand requests, or that finds another."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from crdt.entries import Entry
from node.composition import open_local
from node.services.records import looking
from tests.e2e.killing import Client, Nursery, missing, wait_until_it_answers
from tests.e2e.states import settings
from tests.kit import CHECKOUT, World

REQUESTS = 1_000
END_S_MAX = 5.0
HOUR_S = 3_600.0
SECOND_S_MAX = 1.0
FILES = 4_096
SHIFT = """
import os, time
offset_s = float(os.environ["SHIFTED_S"])
wall_s, wall_ns = time.time, time.time_ns
time.time = lambda: wall_s() + offset_s
time.time_ns = lambda: wall_ns() + int(offset_s * 1e9)
"""
"""Python runs a module of this name before all else, so a whole process reads another clock."""


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


# Another node


def test_a_second_node_ends_at_once_and_writes_nothing(world: World, nursery: Nursery) -> None:
    first = nursery.start(world)
    wait_until_it_answers(world)
    Client(world, 0, 1).add()
    second = subprocess.Popen(
        world.command("up", "--foreground"), env=world.environment({"ATRIUM_PORT": "0"}), cwd=world.work,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert second.stderr is not None
    said = second.stderr.read()
    _, status, used = os.wait4(second.pid, 0)
    second.returncode = os.waitstatus_to_exitcode(status)
    second.stderr.close()
    assert second.returncode == 75
    assert f"(process {first})" in said
    assert used.ru_utime + used.ru_stime < SECOND_S_MAX, "it does not wait, and loads little"
    os.kill(first, signal.SIGTERM)
    assert nursery.wait(first) == 0
    assert len(incarnations(world)) == 1


def entries(world: World) -> list[Entry]:
    """Give all entries in the order in which they were committed."""
    with closing(open_local(settings(world), writable=False)) as local:
        return [item.entry for item in local.feeds.entries()]


def incarnations(world: World) -> set[int]:
    """Name the incarnations of this node in its home."""
    with closing(open_local(settings(world), writable=False)) as local:
        return {head.feed.inc for head in local.feeds.heads(local.feeds.home())}


# The clock


@contextmanager
def node_with_clock(world: World, offset_s: float) -> Iterator[Client]:
    """Run a node, from its first instruction on, with a wall clock that is off by so much."""
    folder = world.base / "clock"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(SHIFT)
    shifted = {"ATRIUM_PORT": "0", "SHIFTED_S": str(offset_s), "PYTHONPATH": f"{folder}:{CHECKOUT}"}
    with subprocess.Popen(
        world.command("up", "--foreground"), env=world.environment(shifted), cwd=world.work,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as node:  # fmt: skip
        try:
            assert node.stdout is not None
            assert "the node runs" in node.stdout.readline()
            yield Client(world, 0, int(offset_s) & 0xFFFF)
        finally:
            node.kill()


def says_of_clock(client: Client) -> str:
    checks = client.ask("doctor", {})["checks"]
    assert isinstance(checks, list)
    (code,) = (check["code"] for check in checks if check["name"] == "clock")
    return str(code)


def test_clocks_that_are_set_back_or_forward_never_put_entries_out_of_order(world: World) -> None:
    now_s = time.time()
    wrong = {
        "right": (0.0, "clock_ok"),
        "an hour behind": (-HOUR_S, "clock_skew"),
        "an hour ahead": (HOUR_S, "clock_ok"),
        "at 1970": (-now_s, "clock_skew"),
        "right again": (0.0, "clock_skew"),
    }
    books = []
    for name, (offset_s, code) in wrong.items():
        with node_with_clock(world, offset_s) as client:
            for _ in range(3):
                client.add()
            client.edit()
            assert says_of_clock(client) == code, name
            books.append(client.book)
    stored = [entry for entry in entries(world) if entry.author == entries(world)[0].author]
    clocks = [entry.hlc for entry in stored]
    assert clocks == sorted(set(clocks)), "they rise strictly"
    assert clocks[-1] >> 16 >= (now_s + HOUR_S) * 1000, "what is ahead is not taken back"
    with closing(open_local(settings(world), writable=False)) as local, looking(local) as reader:
        assert reader is not None
        assert [lost for book in books for lost in missing(reader, book, book.entries)] == []


# The end


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open as many connections as the test needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FILES:
        pytest.skip(f"{hard} files are not enough")
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def asking(world: World, number: int) -> socket.socket:
    """Send a request and leave the answer for later; every fourth one reads."""
    words = ("memory.list", {}) if number % 4 == 3 else ("memory.add", {"text": f"amid {number}"})
    body = json.dumps(words[1]).encode()
    head = f"POST /call/{words[0]} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(world.state / "node.sock"))
    connection.settimeout(20)
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    return connection


def answered(connection: socket.socket) -> dict[str, object]:
    """Read an answer to its end and give its last line."""
    with connection, connection.makefile("rb") as stream:
        _, _, lines = stream.read().partition(b"\r\n\r\n")
    return json.loads(lines.splitlines()[-1]) if lines else {}


@pytest.mark.usefixtures("many_files")
def test_a_node_that_is_told_to_end_amid_a_thousand_requests_keeps_what_it_acknowledged(
    world: World, nursery: Nursery
) -> None:
    node = nursery.start(world)
    wait_until_it_answers(world)
    resource.prlimit(node, resource.RLIMIT_NOFILE, (FILES, FILES))
    Client(world, 0, 1).add()
    with ExitStack() as held:
        asked = [held.enter_context(asking(world, number)) for number in range(REQUESTS)]
        os.kill(node, signal.SIGTERM)
        began_s = time.monotonic()
        answers = [answered(connection) for connection in asked]
    assert nursery.wait(node) == 0
    assert time.monotonic() - began_s < END_S_MAX
    kinds = Counter(kind(answer) for answer in answers)
    print(kinds)
    assert set(kinds) <= {"result", "unavailable"}, "each was answered, and each refusal says what it is"
    assert kinds["result"]
    assert kinds["unavailable"]
    kept = {str(answer["result"]["id"]) for answer in answers if "id" in answer.get("result", {})}  # type: ignore[index, operator]
    with closing(open_local(settings(world), writable=False)) as local, looking(local) as reader:
        assert reader is not None
        assert all(reader.get(identity).state.text for identity in kept)
    assert (world.state / "incarnation").exists()
    before = incarnations(world)
    node = nursery.start(world)
    wait_until_it_answers(world)
    Client(world, 0, 2).add()
    os.kill(node, signal.SIGTERM)
    assert nursery.wait(node) == 0
    assert incarnations(world) == before, "it goes on where it ended"


def kind(answer: dict[str, object]) -> str:
    """Name what an answer is: a result, or the code of a problem."""
    if "result" in answer:
        return "result"
    problem = answer.get("problem", {})
    return str(problem["code"]) if isinstance(problem, dict) and problem else "none"
