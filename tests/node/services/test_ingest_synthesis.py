"""Taking in the mirror: only what is not here, lenient about what is absent, strict about what is there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from node.services import ingest_synthesis
from tests.node.asking import asked
from tests.node.little_room import stopped_by_little_room
from tests.node.services.statement_kit import CRANE, NEWER, Yard, titled

SAID = {"title": "t", "summary": "s"}
KEY = "0123456789abcdef" * 2


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yard:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Yard(tmp_path)


def ingest(yard: Yard) -> Mapping[str, object]:
    return asked(yard.state, "ingest-synthesis")


def counts(yard: Yard) -> tuple[object, ...]:
    """Give files, written, already and skipped of one run."""
    said = ingest(yard)
    return said["files"], said["written"], said["already"], said["skipped"]


def left(yard: Yard, document: object, name: str = KEY) -> Path:
    """Leave a file as another tool would."""
    folder = yard.state / "synthesis" / "records"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def names(yard: Yard) -> set[str]:
    return {path.stem for path in (yard.state / "synthesis" / "records").iterdir()}


def elsewhere(yard: Yard) -> Yard:
    """Make a second state directory that has nothing but the mirror of the first."""
    other = Yard(yard.home)
    other.state = yard.home / "elsewhere" / "state"
    other.state.parent.mkdir()
    folder = other.state / "synthesis"
    folder.mkdir(parents=True)
    (yard.state / "synthesis" / "records").rename(folder / "records")
    return other


def test_without_a_mirror_there_is_nothing_to_take(yard: Yard) -> None:
    assert counts(yard) == (0, 0, 0, {})


def test_what_is_here_is_left_alone(yard: Yard) -> None:
    yard.remember(CRANE)
    yard.remember(NEWER)
    assert counts(yard) == (2, 0, 2, {})
    assert [view.state.version for view in yard.kept()] == [1, 1]


def test_a_mirror_brings_back_what_the_feeds_lost(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    old = yard.remember(CRANE, agent="crane-bot")
    new = yard.remember(NEWER, old["record_id"])
    hidden = yard.remember(titled("hidden"), private=True)
    before = {view.id: view for view in yard.kept()}
    other = elsewhere(yard)
    monkeypatch.setenv("HOME", str(yard.home))
    assert counts(other) == (3, 3, 0, {})
    after = {view.id: view for view in other.kept()}
    assert after.keys() == before.keys()
    for key, view in after.items():
        assert (view.state.fields, view.created_ms, view.state.agent) == (
            before[key].state.fields, before[key].created_ms, before[key].state.agent,
        )  # fmt: skip
    assert after[str(hidden["job_key"])].space_kind == "private"
    assert other.remember(CRANE)["superseded_by"] == new["record_id"]
    assert counts(other) == (3, 0, 3, {})


def test_a_file_without_anything_but_words_will_do(yard: Yard) -> None:
    path = left(yard, {"output": SAID, "mood": "fine"})
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert counts(yard) == (1, 1, 0, {})
    (view,) = yard.kept()
    assert (view.type, view.state.agent, view.created_ms) == ("statement", "local", 1_000_000_000_000)
    assert (view.field("workspace"), view.field("facts")) == (None, [])
    assert names(yard) == {KEY, view.id}, "it is mirrored by its own name, and the other's file is left"
    assert counts(yard) == (2, 0, 2, {})


def test_the_day_on_which_it_was_said_is_kept_and_never_ahead(yard: Yard) -> None:
    left(yard, {"output": SAID, "authored_at": "2024-02-03T04:05:06.789Z"})
    left(yard, {"output": NEWER, "authored_at": "2999-01-01T00:00:00Z"}, "1" * 32)
    ingest(yard)
    ahead, said = yard.kept()
    assert said.created_ms == 1_706_933_106_789
    assert ahead.created_ms < 4_000_000_000_000


def test_secrets_and_homes_in_a_file_are_taken_out(yard: Yard) -> None:
    secret = "hunter2" * 2
    output = {"title": "Gate", "summary": f"password: {secret}"}
    path = left(yard, {"output": output, "workspace": f"{yard.home}/work/yard"})
    ingest(yard)
    path.unlink()
    (view,) = yard.kept()
    assert view.field("workspace") == "[HOME]/work/yard"
    stored = b"".join(file.read_bytes() for file in yard.state.rglob("*") if file.is_file())
    assert secret.encode() not in stored
    assert yard.titles() == ["Gate"]


def test_a_session_s_record_names_its_conversation(yard: Yard) -> None:
    session = {"boundary_uuid": "u-7", "host": "quay"}
    left(yard, {"output": SAID, "conversation_id": "c" * 64, "session": session, "source": "claude-code"})
    ingest(yard)
    (view,) = yard.kept("session-record")
    assert [view.field(name) for name in ("conversation_id", "boundary", "host", "source")] == [
        "c" * 64, "u-7", "quay", "claude-code",
    ]  # fmt: skip
    assert counts(yard) == (2, 0, 2, {})


def test_what_calls_itself_a_statement_is_one(yard: Yard) -> None:
    left(yard, {"output": SAID, "type": "statement", "conversation_id": "c" * 64})
    ingest(yard)
    assert len(yard.kept("statement")) == 1


def test_malformed_files_are_counted_and_left(yard: Yard) -> None:
    left(yard, {"output": {"title": "t"}}, "1" * 32)
    left(yard, {"output": {"title": "  ", "summary": "s"}}, "2" * 32)
    left(yard, {"output": SAID, "agent": "a b"}, "3" * 32)
    left(yard, {"output": SAID, "workspace": "w" * 2_000}, "4" * 32)
    left(yard, {"output": SAID, "conversation_id": "c" * 500}, "5" * 32)
    left(yard, {"output": SAID}, "6" * 32)
    assert counts(yard) == (6, 1, 0, {"malformed": 5})
    assert len(names(yard)) == 7


def test_a_file_that_is_gone_or_closed_is_told_by_name(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    path = left(yard, {"output": SAID})
    kept = left(yard, {"output": NEWER}, "1" * 32)
    monkeypatch.setattr(ingest_synthesis.mirror, "files", lambda _paths: [path, kept])
    path.unlink()
    said = ingest(yard)
    assert (said["written"], said["skipped"], said["unreadable"]) == (1, {"unreadable": 1}, [path.name])


def test_two_files_that_say_the_same_are_one_record(yard: Yard) -> None:
    left(yard, {"output": SAID}, "1" * 32)
    left(yard, {"output": SAID | {"facts": []}}, "2" * 32)
    assert counts(yard) == (2, 1, 1, {})


def test_what_was_deleted_is_not_brought_back(yard: Yard) -> None:
    said = yard.remember(CRANE)
    path = yard.state / "synthesis" / "records" / f"{said['job_key']}.json"
    data = path.read_bytes()
    yard.delete(said["job_key"])
    path.write_bytes(data)
    assert counts(yard) == (1, 0, 1, {})
    assert yard.titles() == []
    assert names(yard) == set()


def test_edges_of_a_file_close_no_circle_and_odd_ones_are_passed_over(yard: Yard) -> None:
    old = yard.remember(CRANE)
    new = yard.remember(NEWER, old["record_id"])
    path = yard.state / "synthesis" / "records" / f"{old['job_key']}.json"
    document = json.loads(path.read_text("utf-8"))
    for older in (new["record_id"], old["record_id"], "../x", "A" * 64):
        path.write_text(json.dumps(document | {"supersedes": [older]}), "utf-8")
        assert counts(yard) == (2, 0, 2, {})
    assert len(yard.kept("edge")) == 1


def test_files_are_committed_by_batches(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_synthesis, "BATCH_FILES", 2)
    for number in range(5):
        left(yard, {"output": titled(f"Nr {number}")}, str(number) * 32)
    assert counts(yard) == (5, 5, 0, {})
    assert len(yard.kept()) == 5


def test_little_room_ends_it_between_files_and_the_next_run_goes_on(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ab" * 16, "cd" * 16):
        left(yard, {"output": {**SAID, "title": name}, "workspace": "/w"}, name)
    monkeypatch.setattr(ingest_synthesis, "BATCH_FILES", 1)
    for looks in (0, 1):
        with stopped_by_little_room(looks):
            ingest(yard)
    assert counts(yard)[1:3] == (1, 2)
