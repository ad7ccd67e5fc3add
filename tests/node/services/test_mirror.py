"""The mirror of statements and session records: what a file holds, and what is taken from one."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from crdt.clock import pack
from crdt.errors import BadInput
from crdt.operations import Value
from crdt.records import RecordState
from node.paths import StatePaths
from node.services import mirror
from node.services.mirror import Mirrored, files, put, read

KEY = "0123456789abcdef" * 2
SAID: dict[str, Value] = {
    "title": "Crane",
    "summary": "Nine tons.",
    "workspace": "[HOME]/yard",
    "project": "yard",
}


def state(key: str = KEY, *, deleted: bool = False, kind: str = "statement", **fields: Value) -> RecordState:
    return RecordState(
        id=key, type=kind, creator=b"k", agent="local", owners=[], clock=0, version=1, heads=[],
        created_hlc=pack(1_700_000_000_123), updated_hlc=pack(1_800_000_000_000),
        fields=SAID | fields, deleted=deleted,
    )  # fmt: skip


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    made = StatePaths(tmp_path / "state")
    made.create()
    return made


def only(paths: StatePaths) -> Path:
    (path,) = files(paths)
    return path


def test_a_record_is_one_private_file_named_by_its_id(paths):
    assert put(paths, Mirrored(state=state(facts=["nine"]), supersedes=("b", "a"), is_private=True))
    path = only(paths)
    assert path.stem == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    document = json.loads(path.read_text("utf-8"))
    assert document["output"] == {
        "title": "Crane",
        "summary": "Nine tons.",
        "facts": ["nine"],
        "open_ends": [],
    }
    assert document["authored_at"] == "2023-11-14T22:13:20.123Z"
    assert (document["job_key"], document["supersedes"], document["private"]) == (KEY, ["a", "b"], True)
    assert [entry.name for entry in paths.records_mirror.iterdir()] == [path.name], (
        "nothing is left beside it"
    )


def test_a_session_record_names_its_conversation_and_boundary(paths):
    put(
        paths,
        Mirrored(state=state(kind="session-record", conversation_id="c" * 64, boundary="u-7", host="quay")),
    )
    found = read(only(paths))
    assert (found.type, found.conversation_id) == ("session-record", "c" * 64)
    assert found.session == mirror.SessionPart(boundary_uuid="u-7", host="quay")


def test_what_is_there_already_is_not_written_again(paths):
    put(paths, Mirrored(state=state()))
    before = only(paths).stat().st_ino
    put(paths, Mirrored(state=state()))
    assert only(paths).stat().st_ino == before
    put(paths, Mirrored(state=state(), supersedes=("a",)))
    assert read(only(paths)).supersedes == ["a"]


def test_a_deleted_record_has_no_file(paths):
    put(paths, Mirrored(state=state()))
    assert put(paths, Mirrored(state=state(deleted=True)))
    assert put(paths, Mirrored(state=state(deleted=True)))
    assert list(files(paths)) == []


@pytest.mark.parametrize("key", ["../../identity", "x" * 32, KEY.upper(), KEY + "0", f"/{KEY}"])
def test_an_id_that_is_no_name_of_a_file_reaches_no_disk(paths, key):
    before = sorted(paths.root.parent.rglob("*"))
    assert not put(paths, Mirrored(state=state(key)))
    assert not put(paths, Mirrored(state=state(key, deleted=True)))
    assert sorted(paths.root.parent.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_closed_directory_is_told_and_not_raised(paths):
    paths.records_mirror.mkdir(parents=True)
    paths.records_mirror.chmod(0o500)
    assert not put(paths, Mirrored(state=state()))
    paths.records_mirror.chmod(0o700)


def test_a_name_that_is_taken_by_a_directory_is_told_and_not_raised(paths):
    (paths.records_mirror / f"{KEY}.json").mkdir(parents=True)
    assert not put(paths, Mirrored(state=state()))
    assert [entry.name for entry in paths.records_mirror.iterdir()] == [f"{KEY}.json"]


def test_what_is_written_is_read_again(paths):
    put(paths, Mirrored(state=state(open_ends=["the hook"]), supersedes=("a",)))
    found = read(only(paths))
    assert found.output == mirror.Said(title="Crane", summary="Nine tons.", open_ends=["the hook"])
    assert (found.type, found.workspace, found.agent) == ("statement", "[HOME]/yard", "local")


def left(paths: StatePaths, document: object, name: str = f"{KEY}.json") -> Path:
    """Leave a file as another tool would."""
    paths.records_mirror.mkdir(parents=True, exist_ok=True)
    path = paths.records_mirror / name
    path.write_text(json.dumps(document), "utf-8")
    return path


def test_what_is_absent_is_made_up_for_and_what_is_unknown_is_passed_over(paths):
    found = read(left(paths, {"output": {"title": "t", "summary": "s"}, "mood": "fine"}))
    assert found == mirror.MirrorFile(output=mirror.Said(title="t", summary="s"))


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"output": []},
        {"output": {"title": "t"}},
        {"output": {"title": "t", "summary": 7}},
        {"output": {"title": "t", "summary": "s", "facts": "f"}},
        {"output": {"title": "t", "summary": "s", "facts": [1]}},
        {"output": {"title": "t", "summary": "s"}, "workspace": 7},
        {"output": {"title": "t", "summary": "s"}, "session": "x"},
        {"output": {"title": "t", "summary": "s"}, "supersedes": "x"},
        {"output": {"title": "t", "summary": "s"}, "private": 1},
    ],
)
def test_what_is_of_another_type_is_refused(paths, document):
    with pytest.raises(BadInput, match=KEY):
        read(left(paths, document))


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 10_000, b'{"output": "\\ud800"}'])
def test_what_is_no_json_is_refused(paths, data):
    path = left(paths, {})
    path.write_bytes(data)
    with pytest.raises(BadInput):
        read(path)


def test_what_is_no_plain_file_of_a_record_is_passed_over(paths, tmp_path):
    assert list(files(paths)) == []
    left(paths, {}, "notes.json")
    left(paths, {}, f"{KEY}.json.new-7")
    folder = paths.records_mirror / f"{'1' * 32}.json"
    folder.mkdir()
    link = paths.records_mirror / f"{'2' * 32}.json"
    link.symlink_to(tmp_path / "secret")
    fifo = paths.records_mirror / f"{'3' * 32}.json"
    os.mkfifo(fifo)
    assert list(files(paths)) == [folder, link, fifo]
    for path in (folder, link, fifo):
        with pytest.raises(BadInput):
            read(path)


def test_a_file_larger_than_any_record_is_refused(paths):
    path = left(paths, {})
    path.write_bytes(b" " * (mirror.FILE_BYTES_MAX + 1))
    with pytest.raises(BadInput):
        read(path)
