"""A change of keys that is killed anywhere is finished by the next writer; there is always one key."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crdt.keys import node_id
from mesh import identity
from mesh.identity import load
from node.succession import reach_of, settle
from tests.kit import CHECKOUT
from tests.node.asking import asked, items
from tests.node.filled import opened

DIE = """
import os, signal, sys, pathlib
import mesh.identity, node.succession, crdt.store
from tests.node.asking import asked

def deadly(function, before):
    def call(*given):
        if before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*given)
        os.kill(os.getpid(), signal.SIGKILL)
        return result
    return call

where, when = sys.argv[2].split("-")
before = when == "before"
if where == "file":
    mesh.identity.replace = deadly(mesh.identity.replace, before)
elif where == "entries":
    crdt.store.FeedStore.write = deadly(crdt.store.FeedStore.write, before)
else:
    mesh.identity.Identity.settled = deadly(mesh.identity.Identity.settled, before)
asked(pathlib.Path(sys.argv[1]), "identity.revoke", apply=True)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    asked(state, "spaces.create", label="team")
    return state


def killed(root: Path, point: str) -> None:
    """Revoke in a process of its own that dies at a point."""
    done = subprocess.run(
        [sys.executable, "-c", DIE, str(root), point],
        cwd=CHECKOUT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize(
    "point",
    ["file-before", "file-after", "entries-before", "entries-after", "settled-before", "settled-after"],
)
def test_wherever_it_is_killed_the_next_one_finishes(root: Path, point: str) -> None:
    old = load(root / "identity.key")
    heir = old.successor().public_key
    killed(root, point)
    between = load(root / "identity.key")
    assert between.public_key == (old.public_key if point == "file-before" else heir)
    assert asked(root, "identity.revoke", apply=point == "file-before")["applied"] is (point == "file-before")
    asked(root, "spaces.create", label="after")
    now = load(root / "identity.key")
    assert (now.public_key, now.replaces) == (heir, None)
    spaces = items(asked(root, "spaces"), "spaces")
    assert sorted(str(space["label"]) for space in spaces) == ["after", "home", "private", "team"]
    assert all(space["mine"] for space in spaces)
    entries = {str(space["label"]): space["entries"] for space in spaces}
    assert entries == {"after": 1, "home": 2, "private": 2, "team": 2}


def test_settling_twice_says_nothing_twice(root: Path) -> None:
    path = root / "identity.key"
    heir = load(path).successor()
    identity.replace(path, heir)
    with opened(root, writable=True) as local:
        head = local.feeds.head()
        settled = settle(local.feeds, heir, path)
        assert local.feeds.head() == head
        assert settled.replaces is None
        assert settle(local.feeds, settled, path) is settled


def test_a_key_reaches_what_knows_it(root: Path) -> None:
    key = load(root / "identity.key")
    heir = key.successor()
    with opened(root) as local:
        reach = reach_of(local.feeds, key.public_key, heir.public_key)
        assert sorted(one.label for one in reach.inherited) == ["home", "private", "team"]
        assert reach.unpromised == []
        nobody = reach_of(local.feeds, heir.public_key, key.public_key)
        assert (nobody.inherited, nobody.unpromised) == ([], [])
    assert node_id(key.public_key) == asked(root, "identity")["node"]
