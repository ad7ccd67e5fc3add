"""A backup is whole, checked, without the key, and goes on where it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crdt.errors import BadInput, Unavailable
from node import backup_files
from tests.node.asking import asked
from tests.node.filled import archive, fragment_of
from tests.node.services.backup_kit import backed_up, fill


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "state")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "backup"


def test_neither_key_nor_marker_nor_anything_derived_is_in_it(root: Path, target: Path) -> None:
    assert (root / "identity.key").exists()
    assert (root / "incarnation").exists()
    backed_up(root, target)
    names = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert {name for name in names if not name.startswith("segments/")} == {
        "backup.json", "copy-1/canonical/feeds.db", "copy-1/local/local.db", "copy-1/config.toml",
    }  # fmt: skip
    secret = (root / "identity.key").read_bytes().split(b"\n")[1]
    assert not any(secret in path.read_bytes() for path in target.rglob("*") if path.is_file())


def test_the_key_is_in_it_where_it_is_asked_for(root: Path, target: Path) -> None:
    assert backed_up(root, target, with_identity=True)["identity"] is True
    assert (target / "copy-1" / "identity.key").read_bytes() == (root / "identity.key").read_bytes()
    assert (target / "copy-1" / "identity.key").stat().st_mode & 0o077 == 0


def test_the_key_of_an_earlier_backup_goes_where_it_is_not_asked_for_again(root: Path, target: Path) -> None:
    backed_up(root, target, with_identity=True)
    assert backed_up(root, target)["identity"] is False
    assert not list(target.rglob("identity.key"))


def test_another_node_s_backup_is_not_replaced(root: Path, target: Path, tmp_path: Path) -> None:
    backed_up(root, target)
    before = (target / backup_files.MANIFEST).read_bytes()
    other = fill(tmp_path / "other")
    with pytest.raises(BadInput, match="another node"):
        backed_up(other, target)
    assert (target / backup_files.MANIFEST).read_bytes() == before
    assert sorted(path.name for path in target.iterdir()) == ["backup.json", "copy-1", "segments"]


def test_a_second_backup_copies_what_is_new_and_drops_what_is_gone(root: Path, target: Path) -> None:
    backed_up(root, target)
    (first,) = list((target / "segments").rglob("*.zst"))
    inode = first.stat().st_ino
    archive(root, fragment_of("second", ["the lock keeper leaves at six"]))
    assert backed_up(root, target)["segments"] == 2
    assert first.stat().st_ino == inode, "what was there is not copied again"


def test_a_damaged_copy_is_copied_again(root: Path, target: Path) -> None:
    backed_up(root, target)
    (copy,) = list((target / "segments").rglob("*.zst"))
    data = copy.read_bytes()
    copy.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    assert backed_up(root, target)["damaged"] == 0
    assert copy.read_bytes() == data


def test_damage_is_told_and_keeps_nothing_from_being_backed_up(root: Path, target: Path) -> None:
    (segment,) = list((root / "canonical" / "segments").rglob("*.zst"))
    segment.write_bytes(segment.read_bytes()[:-4])
    done = backed_up(root, target)
    assert (done["segments"], done["damaged"]) == (1, 1)


def test_a_backup_that_was_interrupted_is_finished_by_the_next(
    root: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_folder: Path, _manifest: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("node.services.backup.write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            backed_up(root, target)
    with pytest.raises(BadInput, match="did not end"):
        backup_files.read_manifest(target)
    backed_up(root, target)
    assert backup_files.read_manifest(target).files


def test_an_interrupted_second_backup_leaves_the_first_whole(
    root: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backed_up(root, target)
    asked(root, "memory.add", text="after the first backup")
    archive(root, fragment_of("second", ["the lock keeper leaves at six"]))
    for step in ("copy_database", "copy_file", "hash_file", "write_manifest"):

        def killed(*_arguments: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(f"node.services.backup.{step}", killed)
            with pytest.raises(KeyboardInterrupt):
                backed_up(root, target)
        manifest = backup_files.read_manifest(target)
        for name, sha256 in manifest.files.items():
            assert backup_files.hash_file(backup_files.place_of(target, manifest.copy, name)) == sha256
    backed_up(root, target)
    assert sorted(path.name for path in target.iterdir()) == ["backup.json", "copy-2", "segments"]


def test_a_directory_with_something_else_is_refused(root: Path, target: Path) -> None:
    target.mkdir()
    (target / "thesis.txt").write_text("mine")
    with pytest.raises(BadInput, match="no backup"):
        backed_up(root, target)
    assert [path.name for path in target.iterdir()] == ["thesis.txt"]
    with pytest.raises(BadInput, match="no directory"):
        backed_up(root, target / "thesis.txt")
    with pytest.raises(BadInput, match="inside the state directory"):
        backed_up(root, root / "backup")


def test_without_an_archive_there_is_nothing_to_back_up(tmp_path: Path, target: Path) -> None:
    with pytest.raises(Unavailable, match="nothing to back up"):
        backed_up(tmp_path / "empty", target)
    assert not (target / backup_files.MANIFEST).exists()


def test_the_manifest_names_every_file_by_its_hash(root: Path, target: Path) -> None:
    backed_up(root, target)
    document = json.loads((target / "backup.json").read_text())
    assert document["kind"] == "atrium-backup"
    for name, sha256 in document["files"].items():
        assert backup_files.hash_file(backup_files.place_of(target, document["copy"], name)) == sha256
