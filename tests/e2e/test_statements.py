"""Statements through a running node: many at once, and what is left after a kill without what is derived."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kit import Completed, World, wait_until

ENV = {"ATRIUM_PORT": "0"}
SPEAKERS = 6


class Yard:
    """A world with a repository and a node."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.project = world.home / "yard"
        (self.project / ".git").mkdir(parents=True)
        self.node: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the node and wait until it answers."""
        self.node = subprocess.Popen(
            self.world.command("up", "--foreground"), env=self.world.environment(ENV), cwd=self.project,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.node.stdout is not None
        assert "the node runs" in self.node.stdout.readline()

    def kill(self) -> None:
        if self.node is not None:
            self.node.kill()
            self.node.communicate(timeout=20)

    def run(self, *words: str, stdin: str | None = None) -> Completed:
        return self.world.run(*words, stdin=stdin, cwd=self.project, env=ENV)

    def remember(self, title: str, *flags: str) -> dict[str, object]:
        said = json.dumps({"title": title, "summary": f"The summary of {title}, in src/{title}.py."})
        return self.run("remember", *flags, "--json", stdin=said).document()

    def titles(self) -> list[str]:
        items = self.run("recall", "--limit", "50", "--json").document()["items"]
        assert isinstance(items, list)
        return [item["title"] for item in items]

    def found(self, word: str) -> list[str]:
        hits = self.run("search", word, "--json").document()["hits"]
        assert isinstance(hits, list)
        return [hit["record_id"] for hit in hits]


@pytest.fixture
def yard(world: World) -> Iterator[Yard]:
    made = Yard(world)
    yield made
    made.kill()


def test_many_speak_to_a_node_at_once_and_each_is_heard(yard: Yard) -> None:
    yard.start()
    names = [f"pier{number}" for number in range(SPEAKERS)]
    with ThreadPoolExecutor(SPEAKERS) as pool:
        said = list(pool.map(yard.remember, names))
        again = list(pool.map(yard.remember, ["same"] * SPEAKERS))
    assert {one["recorded"] for one in said} == {"new"}
    assert len({one["record_id"] for one in again}) == 1
    assert sorted(yard.titles()) == sorted([*names, "same"])
    for name, one in zip(names, said, strict=True):
        wait_until(lambda name=name, one=one: yard.found(name) == [one["record_id"]], f"{name} is found")
    newer = yard.remember("pier9", "--supersedes", str(said[0]["record_id"]))
    assert newer["supersedes"] == [said[0]["record_id"]]
    assert "pier0" not in yard.titles()
    assert yard.remember("pier0")["superseded_by"] == newer["record_id"]
    assert "pier9" in yard.run("file-context", "src/pier9.py").ok().stdout


def test_what_was_acknowledged_survives_a_kill_and_the_loss_of_all_that_is_derived(yard: Yard) -> None:
    yard.start()
    old = yard.remember("pier1")
    newer = yard.remember("pier2", "--supersedes", str(old["record_id"]))
    yard.kill()
    shutil.rmtree(yard.world.state / "derived")
    shutil.rmtree(yard.world.state / "synthesis")
    yard.start()
    wait_until(lambda: yard.run("recall").rc == 0, "what is derived is made anew")
    assert yard.titles() == ["pier2"]
    wait_until(lambda: yard.found("pier2") == [newer["record_id"]], "it is found again")
    assert yard.remember("pier1")["superseded_by"] == newer["record_id"]
    yard.run("rebuild").ok()
    mirrored = {path.stem for path in Path(yard.world.state / "synthesis" / "records").iterdir()}
    assert mirrored == {old["job_key"], newer["job_key"]}
