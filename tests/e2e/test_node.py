"""The node as a process: starting, answering, ending, and everything that can be killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from archivist.sample import SampleSearches, write_sample
from tests.kit import Completed, World, wait_until

ENV = {"ATRIUM_PORT": "0"}


class Machine:
    """A world with at most one node, which is ended with the test."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.processes: list[subprocess.Popen[str]] = []

    def run(self, *words: str, cwd: Path | None = None) -> Completed:
        return self.world.run(*words, env=ENV, cwd=cwd)

    def foreground(self, *words: str) -> subprocess.Popen[str]:
        """Start a node in the foreground and return at once."""
        process = subprocess.Popen(
            self.world.command("up", "--foreground", *words),
            env=self.world.environment(ENV),
            cwd=self.world.work,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def node(self) -> subprocess.Popen[str]:
        """Start a node in the foreground and wait until it answers."""
        process = self.foreground()
        assert process.stdout is not None
        assert "the node runs: http://127.0.0.1:" in process.stdout.readline()
        return process

    @property
    def socket(self) -> Path:
        return self.world.state / "node.sock"

    def logged(self) -> list[dict[str, object]]:
        path = self.world.state / "node.log"
        return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate(timeout=20)
        if self.world.state.is_dir():
            self.run("down")


@pytest.fixture
def machine(world: World) -> Iterator[Machine]:
    made = Machine(world)
    yield made
    made.close()


@pytest.fixture
def sample(world: World) -> SampleSearches:
    return write_sample(world.home)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=20)
    return process.returncode, err


def test_up_imports_starts_and_says_what_to_try(machine: Machine, sample: SampleSearches) -> None:
    said = machine.run("up").ok().stdout
    assert f"of {sample.conversations} conversations" in said
    assert "1 secret redacted" in said
    assert "the node runs: http://127.0.0.1:" in said
    assert "atrium search WORDS" in said
    again = machine.run("up").ok().stdout
    assert again.startswith("already running: http://127.0.0.1:")
    assert machine.run("down").ok().stdout == "stopped\n"
    assert machine.run("down").ok().stdout == "not running\n"


def test_up_without_transcripts_offers_the_demo(machine: Machine) -> None:
    said = machine.run("up").ok().stdout
    assert "no transcripts" in said
    assert "atrium demo" in said
    demo = machine.run("demo").ok().stdout
    assert demo.count("$ atrium search") == 3
    assert "[REDACTED:token]" in demo


def test_down_where_nothing_was_ever_done_makes_nothing(machine: Machine) -> None:
    assert machine.run("down").ok().stdout == "not running\n"
    assert not machine.world.state.exists()


def test_the_local_port_says_that_it_is_well(machine: Machine) -> None:
    process = machine.foreground()
    assert process.stdout is not None
    address = process.stdout.readline().split()[3].rstrip(";")
    with urllib.request.urlopen(f"{address}/health", timeout=10) as answer:  # noqa: S310 - our own address
        assert json.load(answer) == {"status": "ok", "version": "0.1.0"}


def test_a_second_node_ends_with_75_and_names_the_first(machine: Machine) -> None:
    first = machine.node()
    status, err = ended(machine.foreground())
    assert status == 75
    assert f"(process {first.pid})" in err
    assert len(err.splitlines()) == 2
    assert first.poll() is None


def test_a_writer_beside_a_silent_node_is_told_who_has_the_state(machine: Machine) -> None:
    first = machine.node()
    machine.socket.unlink()
    status, err = ended(machine.foreground())
    assert status == 75
    assert f"(process {first.pid})" in err


def test_a_killed_node_leaves_nothing_in_the_way(machine: Machine, sample: SampleSearches) -> None:
    first = machine.node()
    first.send_signal(signal.SIGKILL)
    ended(first)
    assert machine.socket.is_socket()
    assert machine.run("status", "--json").document()["schemaVersion"] == 1
    assert machine.run("capture", "--json").document()["schemaVersion"] == 1
    second = machine.node()
    assert machine.run("search", "idempotency", "--all", "--json").document()["hits"]
    assert second.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_node_and_takes_its_socket_away(machine: Machine, number: signal.Signals) -> None:
    process = machine.node()
    process.send_signal(number)
    status, err = ended(process)
    assert (status, err) == (0, "")
    assert not machine.socket.exists()
    assert machine.logged()[-1]["event"] == "node_stopped"


def test_a_taken_port_is_named_with_its_holder(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, err = ended(machine.foreground("--port", str(port)))
        assert status == 1
        assert f"port {port} is taken by" in err
        assert f"(process {os.getpid()})" in err
        assert "--port" in err
        said = machine.run("up", "--port", str(port))
    assert said.rc == 1
    assert f"atrium: port {port} is taken by" in said.stderr
    assert "hint: " in said.stderr
    assert not machine.socket.exists()


def test_a_state_with_a_long_path_has_a_node_too(machine: Machine) -> None:
    machine.world.state = machine.world.base / ("x" * 100) / "state"
    process = machine.node()
    assert not machine.socket.exists()
    assert machine.run("up").ok().stdout.startswith("already running")
    assert machine.run("status", "--json").document()["schemaVersion"] == 1
    assert machine.run("down").ok().stdout == "stopped\n"
    assert ended(process) == (0, "")


def hits(done: Completed) -> list[dict[str, object]]:
    found = done.document()["hits"]
    assert isinstance(found, list)
    return found


def without_clock(value: object) -> object:
    """Take away instants, ages, durations and who served: what may differ between two equal answers."""
    if isinstance(value, dict):
        passing = (
            *("writtenAt", "at", "ageSeconds", "last_refresh"),
            *("elapsed_ms", "ms", "words_seconds", "served_by"),
        )
        return {key: without_clock(item) for key, item in value.items() if key not in passing}
    return [without_clock(item) for item in value] if isinstance(value, list) else value


def test_every_command_gives_the_same_answer_with_and_without_a_node(
    machine: Machine, sample: SampleSearches
) -> None:
    machine.run("capture").ok()
    machine.run("ingest-notes", str(sample.notes)).ok()
    record = hits(machine.run("search", "idempotency", "--all", "--json"))[0]
    questions = [
        ("search", "idempotency", "--json"),
        ("search", "empoten", "--substring", "--all", "--json"),
        ("context", "idempotency", "key", "--json"),
        ("context", "idempotency", "--project", ".", "--json"),
        ("show", str(record["record_id"]), "--json"),
        ("status", "--json"),
        ("gaps", "--json"),
        ("export", str(machine.world.base / "all.jsonl"), "--json"),
        ("capture", "--json"),
        ("redact", "--json"),
        ("prepare-context", "--json"),
        ("search", "x", "--limit", "0"),
        ("search", ""),
        ("context", "x", "--project", "/"),
        ("show", "ffffffff"),
        ("ingest", "absent.jsonl"),
        ("ingest-notes", "absent"),
    ]
    standing = machine.world.home / "tidewatch"

    def asked(words: tuple[str, ...]) -> tuple[int, object, str]:
        done = machine.run(*words, cwd=standing)
        return done.rc, without_clock(json.loads(done.stdout)) if done.stdout else "", done.stderr

    for words in questions[:4]:
        asked(words)
    without = {words: asked(words) for words in questions if words[0] != "gaps"}
    machine.node()
    for words, answer in without.items():
        assert asked(words) == answer, words
    assert machine.run("gaps", "--json").document()["questions"]


def test_a_write_of_an_agent_is_found_within_seconds(machine: Machine, sample: SampleSearches) -> None:
    machine.run("up").ok()
    wait_until(
        lambda: any(line["event"] == "watching_started" for line in machine.logged()), "the node watches"
    )
    (path, *_) = sorted(Path(sample.roots["claude-code"][0]).rglob("*.jsonl"))
    record = json.loads(path.read_text().splitlines()[1])
    record |= {"uuid": "7f7f7f7f-0000-4000-8000-000000000001", "type": "user"}
    record["message"] = {"role": "user", "content": "the cormorant dives at dusk"}
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    found: Callable[[], object] = lambda: machine.run(  # noqa: E731
        "search", "cormorant", "--all", "--json"
    ).document()["hits"]
    wait_until(found, "the new turn is found", timeout_s=10)


def test_ten_clients_at_once_are_all_answered(machine: Machine, sample: SampleSearches) -> None:
    machine.run("capture").ok()
    machine.node()
    trees = []
    for number in range(5):
        tree = machine.world.base / f"notes{number}"
        tree.mkdir()
        (tree / "a.md").write_text(f"note number {number} of the heron")
        trees.append(str(tree))
    questions: list[tuple[str, ...]] = [("ingest-notes", tree, "--json") for tree in trees]
    questions += [("search", "idempotency", "--all", "--json")] * 5
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda words: machine.run(*words), questions))
    assert [answer.rc for answer in answers] == [0] * 10, answers
    assert len(hits(machine.run("search", "heron", "--all", "--json"))) == 5


def test_ctrl_c_during_the_import_is_safe(machine: Machine, sample: SampleSearches) -> None:
    process = subprocess.Popen(
        machine.world.command("up"),
        env=machine.world.environment(ENV),
        cwd=machine.world.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    machine.processes.append(process)
    assert process.stdout is not None
    while "importing" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    status, err = ended(process)
    assert status in (0, 130), err
    assert "Traceback" not in err
    assert "safe" in err or status == 0
    machine.run("up").ok()
    assert machine.run("search", "idempotency", "--all", "--json").document()["hits"]


def test_the_log_has_no_payload(machine: Machine, sample: SampleSearches) -> None:
    machine.run("up").ok()
    machine.run("search", "cormorantissimo", "--all").ok()
    machine.run("down").ok()
    text = (machine.world.state / "node.log").read_text()
    assert "cormorantissimo" not in text
    assert str(machine.world.home) not in text
    assert (machine.world.state / "node.log").stat().st_mode & 0o777 == 0o600
