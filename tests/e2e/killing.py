"""Real nodes that are killed while several clients write, and a book of what was acknowledged to them.

Nodes are forked from one process that has imported the program (`Nursery`), at a tenth of what starting
Python costs; each is a process of its own that runs `atrium up --foreground`.  A client changes only entries
of its own, one request at a time, so that after a kill each entry is as it was acknowledged last, or as the
one request would have made it that was never answered.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import pkgutil
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NoReturn, cast

from cli.client import ask, connect
from crdt.errors import AtriumError, NotFound
from crdt.projection_reader import ProjectionReader
from node.paths import StatePaths
from tests.e2e.transcripts import Talk, roots
from tests.kit import CHECKOUT, World, wait_until

PACKAGES = ("crdt", "mesh", "retrieval", "archivist", "node", "cli")
WORDS = ("anchor", "buoy", "capstan", "davit", "ensign", "fathom", "gunwale", "halyard", "jib", "keel")
Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry is to show."""

    content: str
    tags: frozenset[str] = frozenset()
    headline: str | None = None
    deleted: bool = False


@dataclass
class Book:
    """What one client was told, and what it asked last without being told."""

    entries: dict[str, Entry] = field(default_factory=dict)
    unanswered: dict[str, Entry] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    decisions: dict[str, str] = field(default_factory=dict)
    spaces: list[str] = field(default_factory=list)
    turns: set[str] = field(default_factory=set)
    acknowledged: int = 0


class Client(threading.Thread):
    """Asks a node for one change after the other until the node is gone, or has answered often enough."""

    def __init__(self, world: World, name: int, seed: int, requests_max: int = 1 << 30) -> None:
        super().__init__(daemon=True)
        self.book = Book()
        self.refusals: list[AtriumError] = []
        """Answers that were none, of a node that goes on: full, ending, too busy."""
        self._world = world
        self._paths = StatePaths(world.state, runtime_of(world))
        self._number = name
        self._requests_max = requests_max
        self._choose = random.Random(seed)  # noqa: S311
        (world.work / ".git").mkdir(exist_ok=True)
        self._counter = itertools.count()
        self._talks = itertools.count(name * 1_000)

    def again(self, seed: int) -> Client:
        """Give a client that goes on with this one's entries."""
        fresh = Client(self._world, self._number, seed)
        fresh.book, fresh._counter, fresh._talks = self.book, self._counter, self._talks
        return fresh

    def run(self) -> None:
        """Ask until nobody answers."""
        changes = (self.add, self.add, self.edit, self.edit, self.tag, self.untag, self.delete, self.restore)
        rare = (self.remember, self.decide, self.capture, self.make_space)
        while self.book.acknowledged < self._requests_max:
            change = self._choose.choice(changes if self._choose.random() < 0.85 else rare)
            try:
                change()
            except AtriumError as error:
                # A killed node is the end of this client; what it asked last stays unanswered.
                self.refusals.append(error)
                return

    def ask(self, name: str, arguments: Mapping[str, object]) -> Document:
        """Ask the node; raises what it says, or `NotFound` where none listens."""
        connection = connect(self._paths)
        if connection is None:
            raise NotFound("no node listens")
        document = ask(connection, name, arguments, None)
        self.book.acknowledged += 1
        return document

    def text(self) -> str:
        """Make a text that nobody else says."""
        words = " ".join(self._choose.choices(WORDS, k=self._choose.randint(2, 30)))
        return f"{self._number}/{next(self._counter)}: {words}"

    def add(self) -> None:
        """Add an entry."""
        made = Entry(self.text(), frozenset({f"t{self._number}"}))
        document = self.ask("memory.add", {"text": made.content, "tags": sorted(made.tags)})
        self.book.entries[str(document["id"])] = made

    def edit(self) -> None:
        """Give an entry another text, and perhaps a headline."""
        headline = self._choose.choice([None, self.text()])
        fields = {} if headline is None else {"headline": headline}
        text = self.text()
        self._change(
            "memory.edit",
            lambda was: replace(was, content=text, headline=headline or was.headline),
            {"text": text, "fields": fields},
        )

    def tag(self) -> None:
        """Add a tag."""
        tag = f"{self._choose.choice(WORDS)}-{next(self._counter)}"
        self._change("memory.tag", lambda was: replace(was, tags=was.tags | {tag}), {"add": [tag]})

    def untag(self) -> None:
        """Take a tag away."""
        found = self._pick()
        if found is not None and self.book.entries[found].tags:
            tag = self._choose.choice(sorted(self.book.entries[found].tags))
            was = self.book.entries[found]
            self._changed(
                found, replace(was, tags=was.tags - {tag}), "memory.tag", {"id": found, "remove": [tag]}
            )

    def delete(self) -> None:
        """Delete an entry."""
        found = self._pick()
        if found is not None:
            was = self.book.entries[found]
            self._changed(found, replace(was, deleted=True), "memory.delete", {"ids": [found]})

    def restore(self) -> None:
        """Bring a deleted entry back."""
        found = self._pick(deleted=True)
        if found is not None:
            was = self.book.entries[found]
            self._changed(found, replace(was, deleted=False), "memory.restore", {"id": found})

    def remember(self) -> None:
        """Keep a statement."""
        statement = {"title": self.text(), "summary": self.text()}
        said = self.ask("remember", {"project": str(self._world.work), "statement": statement})
        self.book.statements.append(str(said["job_key"]))

    def decide(self) -> None:
        """Keep a decision."""
        decision = self.text()
        self.book.decisions[str(self.ask("decision.add", {"decision": decision})["id"])] = decision

    def make_space(self) -> None:
        """Make a space."""
        label = f"space-{self._number}-{next(self._counter)}"
        self.ask("spaces.create", {"label": label})
        self.book.spaces.append(label)

    def capture(self) -> None:
        """Let a transcript grow in two steps, capture each, and delete it as its agent would."""
        talk = Talk(4 * next(self._talks), 4, result_bytes=200)
        ((path, data),) = talk.files(self._world.home).items()
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = data.splitlines(keepends=True)
        folders = {name: [str(folder)] for name, folder in roots(self._world.home).items()}
        for count, turns in ((3, 2), (len(rows), 4)):
            path.write_bytes(b"".join(rows[:count]))
            self.ask("capture", {"roots": folders})
            self.book.turns |= {talk.said(position) for position in range(turns)}
        path.unlink()

    def _pick(self, *, deleted: bool = False) -> str | None:
        found = [name for name, entry in self.book.entries.items() if entry.deleted == deleted]
        return self._choose.choice(found[-40:]) if found else None

    def _change(self, name: str, changed: object, arguments: Mapping[str, object]) -> None:
        found = self._pick()
        if found is not None:
            was = self.book.entries[found]
            self._changed(found, changed(was), name, {"id": found, **arguments})  # type: ignore[operator]

    def _changed(self, found: str, then: Entry, name: str, arguments: Mapping[str, object]) -> None:
        self.book.unanswered[found] = then
        self.ask(name, arguments)
        self.book.entries[found] = self.book.unanswered.pop(found)


def settle(reader: ProjectionReader, book: Book) -> list[str]:
    """Find out what became of requests that were never answered; say which became something else."""
    odd = []
    for identity, then in book.unanswered.items():
        found = shown(reader, identity)
        if found not in (book.entries[identity], then):
            odd.append(f"{identity} is {found}, was {book.entries[identity]} and perhaps {then}")
        elif found is not None:
            book.entries[identity] = found
    book.unanswered.clear()
    return odd


def missing(reader: ProjectionReader, book: Book, entries: Iterable[str]) -> list[str]:
    """Say which of these entries, and which statements and decisions, are not there as acknowledged."""
    lost = []
    for identity in entries:
        found = shown(reader, identity)
        if found != book.entries[identity]:
            lost.append(f"{identity} is {found}, was acknowledged as {book.entries[identity]}")
    lost += [f"statement {key}" for key in book.statements if shown(reader, key) is None]
    for identity, decision in book.decisions.items():
        try:
            if reader.get(identity).field("decision") != decision:
                lost.append(f"decision {identity} is another")
        except NotFound:
            lost.append(f"decision {identity}")
    return lost


def shown(reader: ProjectionReader, identity: str) -> Entry | None:
    """Give an entry as the projection has it."""
    try:
        state = reader.get(identity).state
    except NotFound:
        return None
    headline = state.fields.get("headline")
    return Entry(state.text or "", frozenset(state.tags), cast("str | None", headline), state.deleted)


class Nursery:
    """A process that has imported the program, and forks nodes of any world."""

    def __init__(self, *, sabotaged: bool = False) -> None:
        words = ["sabotaged"] if sabotaged else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.killing", *words],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, world: World) -> int:
        """Fork a node and give its process id at once."""
        own = {"ATRIUM_PORT": "0", "XDG_RUNTIME_DIR": str(runtime_of(world))}
        return self._say({"start": world.environment(own), "directory": str(world.work)})

    def wait(self, process: int) -> int:
        """Wait until a node has ended and give its exit status."""
        return self._say({"wait": process})

    def kill(self, process: int) -> None:
        """Kill a node and wait for its end."""
        os.kill(process, signal.SIGKILL)
        assert self.wait(process) == -signal.SIGKILL

    def close(self) -> None:
        """End the nursery, and nodes that still run."""
        self._process.communicate(timeout=30)

    def _say(self, asked: Mapping[str, object]) -> int:
        stdin, stdout = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        stdin.write(json.dumps(asked) + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the nursery died"
        return int(answer)


def runtime_of(world: World) -> Path:
    """Name where a world's short sockets are."""
    return world.base / "run"


def answers(world: World) -> bool:
    """Tell whether a node takes connections."""
    connection = connect(StatePaths(world.state, runtime_of(world)))
    if connection is not None:
        connection.close()
    return connection is not None


def wait_until_it_answers(world: World) -> float:
    """Wait for the node to take a connection; give the seconds that took."""
    began_s = time.monotonic()
    wait_until(lambda: answers(world), "the node answers", timeout_s=60)
    return time.monotonic() - began_s


def main() -> None:
    """Be the nursery: fork nodes and wait for them as told on standard input."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages([f"{CHECKOUT}/{package}"], f"{package}."):
            importlib.import_module(module.name)
    gc.freeze()
    if "sabotaged" in sys.argv:
        acknowledge_too_early()
    children: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "start" in asked:
            child = os.fork()
            if child == 0:
                _be_a_node(asked["start"], asked["directory"])
            children.add(child)
            print(child, flush=True)
        else:
            _, status = os.waitpid(asked["wait"], 0)
            children.discard(asked["wait"])
            print(os.waitstatus_to_exitcode(status), flush=True)
    for child in children:
        os.kill(child, signal.SIGKILL)


def acknowledge_too_early() -> None:
    """Break the writer so that it acknowledges and commits a moment later, as no store may."""
    from crdt import feed_writer

    commit = feed_writer.GroupWriter._commit
    settle = feed_writer._Submission.settle
    pause = threading.Event()

    def early(self: feed_writer.GroupWriter, group: list[feed_writer._Submission]) -> None:
        connection = self._usable()
        connection.execute("BEGIN IMMEDIATE")
        for submission in group:
            if submission.future.set_running_or_notify_cancel():
                submission.attempt(connection)
                settle(submission)
        pause.wait(0.05)
        connection.execute("COMMIT")

    assert commit is not early
    feed_writer.GroupWriter._commit = early  # type: ignore[assignment, method-assign]


def _be_a_node(environment: Mapping[str, str], directory: str) -> NoReturn:
    status: object = 1
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        sys.argv = [f"{CHECKOUT}/cli/main.py", "up", "--foreground"]
        from cli.main import main as command

        command()
    except SystemExit as end:
        status = end.code
    finally:
        os._exit(status if isinstance(status, int) else 1)


def said_in(conversations: list[Document]) -> Iterator[str]:
    """Give the text of every message of an export."""
    for conversation in conversations:
        for event in cast("list[Document]", conversation["events"]):
            yield str(event.get("text", ""))


if __name__ == "__main__":
    main()
