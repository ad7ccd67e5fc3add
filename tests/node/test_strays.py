"""What a killed writer left is gone once the next one has the state directory."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from node.composition import open_local
from node.paths import StatePaths
from node.strays import sweep_strays
from tests.node.filled import archive, fragment_of, settings, tree

STRAYS = (
    "last-refresh.new-12",
    "identity.key.new-12",
    "incarnation.new-12",
    "derived/index.db.new-12",
    "derived/index.db.new-12-journal",
    "derived/rebuild-index.db",
    "derived/rebuild-index.db-wal",
    "derived/rebuild-substrings.db",
    "canonical/segments/ab/.tmp-12-0123456789abcdef",
    "synthesis/records/0123456789abcdef0123456789abcdef.json.new-12-34",
)


def plant(root: Path) -> None:
    for name in STRAYS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"half")


def test_strays_are_removed_and_nothing_else_is(tmp_path: Path) -> None:
    root = tmp_path / "state"
    archive(root, fragment_of("one", ["said"]))
    (root / "status").mkdir(exist_ok=True)
    (root / "status" / "refresh.json.new-12").write_bytes(b"somebody's, without the lock")
    before = tree(root)
    plant(root)
    assert sweep_strays(StatePaths(root, tmp_path)) == len(STRAYS)
    assert {name: data for name, data in tree(root).items() if data or name in before} == before
    assert sweep_strays(StatePaths(root, tmp_path)) == 0


def test_a_writer_sweeps_when_it_opens_and_a_reader_does_not(tmp_path: Path) -> None:
    root = tmp_path / "state"
    archive(root, fragment_of("one", ["said"]))
    plant(root)
    with closing(open_local(settings(root), writable=False)):
        assert all((root / name).exists() for name in STRAYS)
    with closing(open_local(settings(root), writable=True)):
        assert not any((root / name).exists() for name in STRAYS)


def test_where_there_is_nothing_there_is_nothing_to_sweep(tmp_path: Path) -> None:
    assert sweep_strays(StatePaths(tmp_path / "absent", tmp_path)) == 0
