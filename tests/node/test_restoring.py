"""A restore leaves the old or the new, whenever it is interrupted, and deletes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from crdt.errors import BadInput, Damaged
from node import backup_files, restoring
from node.backup_files import BackupManifest, read_manifest, write_manifest
from node.paths import StatePaths

OLD = {"canonical/feeds.db": b"old feeds", "local/local.db": b"old local", "config.toml": b"old = 1"}
NEW = {
    "canonical/feeds.db": b"new feeds",
    f"canonical/segments/ab/ab{'0' * 62}.jsonl.zst": b"a segment",
    "local/local.db": b"new local",
}


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def made_backup(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        place = backup_files.place_of(folder, "copy-1", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = BackupManifest(
        kind=backup_files.KIND,
        schema_version=1,
        made_at="2026-01-01T00:00:00Z",
        node=None,
        copy="copy-1",
        files=hashes,
    )
    write_manifest(folder, manifest)
    return folder


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return made_backup(tmp_path / "backup", NEW)


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    paths = StatePaths(tmp_path / "state", tmp_path)
    paths.create()
    fill(paths.root, OLD)
    paths.incarnation.write_bytes(b"marker")
    paths.identity.write_bytes(b"own key")
    return paths


def count_nothing(_done: int, _total: int) -> None:
    """Take a sign of progress."""


def test_the_new_is_in_place_and_the_old_is_set_aside(backup: Path, paths: StatePaths) -> None:
    assert restoring.stage(backup, paths, count_nothing) == len(NEW)
    aside = restoring.finish(paths, "now")
    assert aside is not None
    state = {name: data for name, data in content(paths.root).items() if not name.startswith("set-aside-")}
    assert state == {**NEW, "identity.key": b"own key"}, "the key stays, settings go with their data"
    assert content(aside) == OLD
    assert not paths.incarnation.exists(), "what is written next must begin a new incarnation"


def test_files_are_private(backup: Path, paths: StatePaths) -> None:
    restoring.stage(backup, paths, count_nothing)
    restoring.finish(paths, "now")
    for path in (paths.root / "canonical").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_what_an_earlier_restore_set_aside_is_never_replaced(tmp_path: Path, paths: StatePaths) -> None:
    for number, text in enumerate((b"first", b"second", b"third")):
        folder = made_backup(tmp_path / f"backup-{number}", {**NEW, "config.toml": text})
        restoring.stage(folder, paths, count_nothing)
        restoring.finish(paths, "interrupted")
    settings = [folder / "config.toml" for folder in sorted(paths.root.glob("set-aside-*"))]
    assert [path.read_bytes() for path in settings] == [b"old = 1", b"first", b"second"]
    assert (paths.root / "config.toml").read_bytes() == b"third"


class Killed(BaseException):
    """Stands for the end of the process at some call."""


def dying_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """End at the n-th rename, before it is done; gives a function that tells how many there were."""
    real, calls = Path.rename, [0]

    def rename(self: Path, target: Path) -> Path:
        calls[0] += 1
        if calls[0] == number:
            raise Killed
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    return lambda: calls[0]


@pytest.mark.parametrize("number", range(1, 12))
def test_death_at_any_rename_leaves_the_old_or_the_new(
    backup: Path, paths: StatePaths, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patch:
        count = dying_at(patch, number)
        try:
            restoring.stage(backup, paths, count_nothing)
            restoring.finish(paths, "first")
        except Killed:
            assert count() == number
    was_decided = (paths.root / "restore-ready").exists() or (paths.root / "restore-moving").exists()
    restoring.finish(paths, "second")
    feeds = paths.feeds_db.read_bytes()
    aside = [folder for folder in paths.root.glob("set-aside-*") if content(folder)]
    if feeds == b"old feeds":
        assert not was_decided
        assert not aside
    else:
        assert {name: (paths.root / name).read_bytes() for name in NEW} == NEW
        assert {name: data for folder in aside for name, data in content(folder).items()} == OLD


def test_a_changed_file_is_refused_and_nothing_is_changed(backup: Path, paths: StatePaths) -> None:
    (backup / "copy-1/local/local.db").write_bytes(b"tampered!")
    before = content(paths.root)
    with pytest.raises(Damaged, match=r"local\.db"):
        restoring.stage(backup, paths, count_nothing)
    assert restoring.finish(paths, "now") is None
    assert content(paths.root) == before


def test_a_missing_file_is_refused(backup: Path, paths: StatePaths) -> None:
    (backup / "copy-1/canonical/feeds.db").unlink()
    with pytest.raises(Damaged, match="feeds"):
        restoring.stage(backup, paths, count_nothing)


def test_a_backup_that_did_not_end_is_none(backup: Path) -> None:
    (backup / backup_files.MANIFEST).unlink()
    with pytest.raises(BadInput, match="did not end"):
        read_manifest(backup)


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/passwd", "canonical/segments/ab/../../../x", "identity.key.new", "derived/index.db"],
)
def test_a_name_that_no_backup_has_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "backup"
    folder.mkdir()
    manifest = BackupManifest(
        kind=backup_files.KIND,
        schema_version=1,
        made_at="x",
        node=None,
        copy="copy-1",
        files={name: "0" * 64},
    )
    write_manifest(folder, manifest)
    with pytest.raises(BadInput, match="no backup has"):
        read_manifest(folder)


def test_a_key_is_restored_only_where_there_is_none(tmp_path: Path, paths: StatePaths) -> None:
    backup = made_backup(tmp_path / "with-key", {**NEW, "identity.key": b"their key"})
    restoring.stage(backup, paths, count_nothing)
    restoring.finish(paths, "now")
    assert paths.identity.read_bytes() == b"own key"
    bare = StatePaths(tmp_path / "bare", tmp_path)
    bare.create()
    restoring.stage(backup, bare, count_nothing)
    restoring.finish(bare, "now")
    assert bare.identity.read_bytes() == b"their key"
