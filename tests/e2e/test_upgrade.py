"""A state directory of the version before signed feeds: nothing is read again and no index is made anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from crdt.manifests import Manifest
from crdt.segments import Body
from tests.crdt.logs import open_log
from tests.crdt.older_store import make_older_store
from tests.e2e.states import standing
from tests.e2e.transcripts import Talk, files_of, write
from tests.kit import World

TALKS = [Talk(number, 6) for number in range(6)]
WATERMARK = "UPDATE meta SET value = value - ? WHERE key = 'archive_seq'"
MARK = "UPDATE mark SET seq = seq - ?"


def make_older(world: World) -> None:
    """Put the same archive in the place of this one's as the older version had it, places from 1."""
    path = world.state / "canonical" / "feeds.db"
    said: list[tuple[int, Manifest, list[Body]]] = []
    with closing(open_log(path, writable=False)) as log:
        logged = list(log.since(0))
        waiting = [
            Body(sha256=sha256.hex(), data=log.tail_body(sha256) or b"") for sha256, _, _ in log.tails()
        ]
        said = [(item.hlc, item.manifest, waiting) for item in logged]
    shift = logged[0].seq - 1
    assert [item.seq - shift for item in logged] == list(range(1, len(logged) + 1))
    for name in ("feeds.db", "feeds.db-wal", "feeds.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    (world.state / "incarnation").unlink()
    (world.state / "identity.key").unlink()
    make_older_store(path, said)
    with closing(sqlite3.connect(world.state / "derived" / "index.db")) as index, index:
        index.execute(WATERMARK, (shift,))
    with closing(sqlite3.connect(world.state / "local" / "local.db")) as local, local:
        local.execute(MARK, (shift,))


def index_marks(world: World) -> dict[str, object]:
    with closing(sqlite3.connect(world.state / "derived" / "index.db")) as index:
        found = index.execute("SELECT key, value FROM meta").fetchall()
    # What is about shared memory begins anew: the older state had no feeds, and no home to judge by.
    return {key: value for key, value in found if not key.startswith("memory_")}


@pytest.mark.parametrize("talks", [TALKS, [Talk(9, 400, result_bytes=12_000)]], ids=["waiting", "sealed"])
def test_an_older_state_goes_on_where_it_was(world: World, talks: list[Talk]) -> None:
    paths = files_of(talks, world.home)
    write(paths)
    first = world.run("capture", "--json").document()
    assert first["conversations"]
    expected = standing(world)
    make_older(world)
    before = index_marks(world)
    again = world.run("capture", "--json").document()
    assert (again["fragments"], again["unchanged"]) == (0, len(paths))
    assert index_marks(world) == before, "the index is the same one, at the same place"
    assert standing(world) == expected
    with closing(open_log(world.state / "canonical" / "feeds.db", writable=False)) as log:
        assert list(log.since(0))
        assert log.store.home()
    assert Path(world.state / "identity.key").exists()
