"""Status: what it counts, what it says without an archive or an index, and that a look writes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from crdt.errors import Damaged, OlderVersion, SettingsInvalid
from node import config
from node.composition import open_local
from node.services import status
from node.services.requests import StatusRequest
from node.services.status import handle
from retrieval.index_reader import IndexReader
from retrieval.index_schema import discard_database
from tests.crdt.older_store import make_older_store
from tests.kit import CHECKOUT
from tests.node.filled import archive, fragment_of, ignore, opened, tree

NOTHING = hashlib.sha256().hexdigest()
FIELDS = {
    "schemaVersion", "writtenAt", "digest", "notes_digest", "projection_digest", "records", "archive",
    "refresh", "content", "populations", "mesh", "captures",
}  # fmt: skip
LOOK = """
import json, pathlib, sys
from tests.node.services.test_status import asked
print(json.dumps(asked(pathlib.Path(sys.argv[1]))))
"""
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
touch "$1/x" 2>/dev/null && exit 78
exec "$2" -c "$3" "$1"
"""


def asked(root: Path, *, publish: bool = False) -> dict[str, object]:
    """Ask for the status as a one-shot command does."""
    with opened(root) as local:
        return handle(local, StatusRequest(publish=publish), ignore)


def part(document: dict[str, object], name: str) -> dict[str, object]:
    """Give one of the document's objects."""
    return cast("dict[str, object]", document[name])


def without_clock(document: dict[str, object]) -> dict[str, object]:
    """Leave out what differs from one moment to the next."""
    return {
        key: {k: v for k, v in value.items() if k != "ageSeconds"} if isinstance(value, dict) else value
        for key, value in document.items()
        if key != "writtenAt"
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Name a state directory that does not exist."""
    return tmp_path / "state"


def test_a_machine_with_nothing_has_zeros_and_no_directory(root: Path) -> None:
    document = asked(root)
    assert set(document) == FIELDS
    assert document["digest"] == document["notes_digest"] == NOTHING
    assert document["records"] == {"total": 0, "bySource": {}}
    none = {"at": None, "ageSeconds": None}
    assert document["archive"] == {**none, "bytes": 0, "segments": 0, "conversations": 0}
    assert document["refresh"] == document["content"] == none
    assert not root.exists()


def test_counts_are_of_what_was_archived(root: Path) -> None:
    archive(root, fragment_of("a", ["one", "two"]), fragment_of("b", ["three"], source="codex"))
    archive(root, fragment_of("c", ["four"]), seal=False)
    document = asked(root)
    assert document["records"] == {"total": 4, "bySource": {"claude-code": 3, "codex": 1}}
    found = part(document, "archive")
    (segment,) = (root / "canonical" / "segments").rglob("*.zst")
    assert found["segments"] == 1
    assert found["conversations"] == 3
    assert found["bytes"] == segment.stat().st_size + len(fragment_of("c", ["four"]).data)


def test_sources_come_in_order(root: Path) -> None:
    archive(root, *(fragment_of(name, ["x"], source=name) for name in ("zed", "codex", "aider")))
    assert list(cast("dict[str, int]", part(asked(root), "records")["bySource"])) == ["aider", "codex", "zed"]


def test_instants_are_the_archive_s_the_stamp_s_and_the_newest_message_s(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]))
    (root / "last-refresh").write_text(str(int(time.time()) - 90))
    document = asked(root)
    assert part(document, "content")["at"] == "2026-01-05T09:00:00Z"
    assert cast("int", part(document, "archive")["ageSeconds"]) < 60
    assert 90 <= cast("int", part(document, "refresh")["ageSeconds"]) < 150


@pytest.mark.parametrize("stamp", ["", "soon", "nan", "99999999999", "1e300"])
def test_a_stamp_of_no_meaning_is_no_instant(root: Path, stamp: str) -> None:
    root.mkdir()
    (root / "last-refresh").write_text(stamp)
    assert asked(root)["refresh"] == {"at": None, "ageSeconds": None}


def test_an_archive_without_an_index_has_no_known_digest(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]))
    discard_database(root / "derived" / "index.db")
    document = asked(root)
    assert document["digest"] is None
    assert document["notes_digest"] is None
    assert part(document, "archive")["conversations"] is None
    assert part(document, "archive")["segments"] == 1


def test_the_order_of_taking_in_does_not_show_in_the_digest(tmp_path: Path) -> None:
    bodies = [fragment_of(name, [f"message of {name}"]) for name in "abc"]
    for body in bodies:
        archive(tmp_path / "one", body)
    archive(tmp_path / "two", *reversed(bodies), seal=False)
    digest = asked(tmp_path / "one")["digest"]
    assert digest == asked(tmp_path / "two")["digest"]
    assert digest not in (None, NOTHING)


def test_a_look_writes_nothing(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]))
    before = tree(root)
    asked(root)
    assert tree(root) == before


def test_a_look_beside_a_writer_sees_what_is_committed(root: Path) -> None:
    with opened(root, writable=True) as writer:
        writer.archive.append([fragment_of("b", ["two"])], seal=False)
        writer.follower.catch_up()
        assert part(handle(writer, StatusRequest(), ignore), "records")["total"] == 1
        writer.index.connection.execute("BEGIN")
        writer.index.connection.execute("DELETE FROM records")
        assert part(handle(writer, StatusRequest(), ignore), "records")["total"] == 1
        assert part(asked(root), "records")["total"] == 1
        writer.index.connection.execute("ROLLBACK")


def test_neither_text_nor_path_is_shown(root: Path) -> None:
    archive(root, fragment_of("sessionname", ["sentinel"]))
    shown = json.dumps(asked(root))
    for word in ("sentinel", "sessionname", str(root)):
        assert word not in shown


def test_the_published_document_is_the_printed_one(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]))
    stray = root / "status" / "refresh.json.new-0123"
    stray.write_text("{")
    os.utime(stray, (0, 0))
    printed = asked(root, publish=True)
    (published,) = (root / "status").iterdir()
    assert published.name == "refresh.json"
    assert published.stat().st_mode & 0o777 == 0o600
    assert json.loads(published.read_text("utf-8")) == printed
    assert without_clock(printed) == without_clock(asked(root))


def test_publishing_on_a_machine_with_nothing_makes_private_directories(root: Path) -> None:
    asked(root, publish=True)
    assert {path.stat().st_mode & 0o777 for path in (root, root / "status")} == {0o700}


def test_publishing_follows_no_doubtful_declaration(tmp_path: Path) -> None:
    doubtful = config.load(environ={"SYNTOPICA_DATA": str(tmp_path), "HOME": str(tmp_path)})
    with closing(open_local(doubtful, writable=False)) as local, pytest.raises(SettingsInvalid):
        handle(local, StatusRequest(publish=True), ignore)
    assert list(tmp_path.iterdir()) == []


def test_what_did_not_change_is_not_hashed_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What other tests left in it could fill it up, and empty it in the middle of this one.
    monkeypatch.setattr(status, "_memory", {})
    hashed = []
    original = IndexReader.digest
    monkeypatch.setattr(
        IndexReader, "digest", lambda reader, **how: hashed.append(1) or original(reader, **how)
    )
    archive(root, fragment_of("a", ["one"]))
    first = asked(root)["digest"]
    once = len(hashed)
    assert asked(root)["digest"] == first
    assert len(hashed) == once
    archive(root, fragment_of("b", ["two"]))
    assert asked(root)["digest"] != first
    assert len(hashed) == 2 * once


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "REMEMBERED_MAX", 3)
    for name in ("one", "two", "three"):
        archive(tmp_path / name, fragment_of("a", ["one"]))
        asked(tmp_path / name)
    assert len(status._memory) <= 3


def test_a_damaged_index_is_said_and_not_counted(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]))
    (root / "derived" / "index.db").write_bytes(b"no database at all" * 512)
    with pytest.raises(Damaged):
        asked(root)


def test_a_read_only_directory_answers(root: Path) -> None:
    archive(root, fragment_of("a", ["one"]), fragment_of("b", ["two"]))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(root), sys.executable, LOOK],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this user can't mount: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert without_clock(json.loads(done.stdout)) == without_clock(asked(root))


def test_a_state_of_an_older_version_is_not_told_as_empty(tmp_path: Path) -> None:
    make_older_store(tmp_path / "state" / "canonical" / "feeds.db", [])
    with pytest.raises(OlderVersion, match="older version"):
        asked(tmp_path / "state")
