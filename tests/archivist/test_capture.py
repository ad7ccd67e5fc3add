"""Capture is incremental: growing, rewritten, resumed and vanished transcripts, and nothing twice."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archivist import capture as capture_module
from archivist.capture import NAMED_MAX, CaptureOptions, CaptureReport, survey
from archivist.providers import PROVIDERS
from crdt.errors import DiskFull
from crdt.ids import conversation_id
from tests.archivist.machine import Machine
from tests.retrieval.follow_kit import contents

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SECRET = "gh" + "p_" + "a1B2" * 9


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Give a machine on which nothing was captured."""
    with closing(Machine(tmp_path)) as made:
        yield made


def state_of(machine: Machine) -> tuple[object, ...]:
    """Tell what a run that does nothing must leave as it is."""
    connection = machine.kept.index.connection
    return (
        machine.kept.archive.log.head(),
        connection.total_changes,
        machine.store.cursors("generic", str(machine.transcripts)),
    )


def test_what_agents_left_is_archived_and_searchable(machine: Machine) -> None:
    machine.write("a", "where is the crane", "by the pier")
    machine.write("deep/b", "rename it")
    report = machine.capture()
    assert machine.texts() == ["where is the crane", "by the pier", "rename it"]
    assert (report.fragments, report.events, report.unchanged) == (2, 3, 0)
    assert report.conversations == {
        "generic": {conversation_id("generic", "a"), conversation_id("generic", "deep/b")}
    }
    assert report.bytes_read == sum(path.stat().st_size for path in machine.transcripts.rglob("*.jsonl"))
    assert report.applied.written == 3


def test_a_second_run_writes_nothing(machine: Machine) -> None:
    machine.write("a", "where is the crane")
    machine.write("b", "rename it")
    machine.capture()
    before = state_of(machine)
    report = machine.capture()
    assert (report.unchanged, report.fragments, report.bytes_read) == (2, 0, 0)
    assert state_of(machine) == before


def test_a_file_that_grew_adds_what_it_grew_by_and_touches_no_older_row(machine: Machine) -> None:
    path = machine.write("a", "one", "two")
    machine.capture()
    older = machine.kept.index.connection.execute("SELECT * FROM records ORDER BY id").fetchall()
    size = path.stat().st_size
    machine.write("a", "three", more=True)
    report = machine.capture()
    assert (report.fragments, report.events) == (1, 1)
    assert report.bytes_read == path.stat().st_size - size
    rows = machine.kept.index.connection.execute("SELECT * FROM records ORDER BY id").fetchall()
    assert rows[:-1] == older
    assert machine.texts() == ["one", "two", "three"]


def test_half_a_line_waits_for_its_end(machine: Machine) -> None:
    path = machine.write("a", "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert machine.capture().events == 1
    path.write_bytes(whole)
    assert machine.capture().events == 1
    assert machine.texts() == ["one", "two"]


def test_a_file_that_was_rewritten_keeps_what_was_in_it_and_takes_what_is_new(machine: Machine) -> None:
    machine.write("a", "one", "two", "three")
    machine.capture()
    machine.write("a", "one", "two, corrected")
    report = machine.capture()
    assert (report.fragments, report.events) == (1, 1)
    assert machine.texts() == ["one", "two, corrected", "three"]


def test_a_file_that_was_replaced_by_the_same_adds_nothing(machine: Machine) -> None:
    path = machine.write("a", "one", "two")
    machine.capture()
    head = machine.kept.archive.log.head()
    copy = path.read_bytes()
    path.unlink()
    path.write_bytes(copy)
    report = machine.capture()
    assert (report.fragments, report.events) == (0, 0)
    assert machine.kept.archive.log.head() == head


def test_a_resumed_session_in_another_file_adds_what_is_new(machine: Machine) -> None:
    first = [{"text": "one", "session": "s"}, {"text": "two", "session": "s"}]
    machine.write("first", *first)
    machine.capture()
    machine.write("second", *first, {"text": "three", "session": "s"})
    report = machine.capture()
    assert (report.fragments, report.events) == (1, 1)
    assert machine.texts() == ["one", "two", "three"]


def test_copies_within_one_run_are_taken_once(machine: Machine) -> None:
    said = [{"text": f"turn {place}", "session": "s"} for place in range(3)]
    machine.write("first", *said)
    machine.write("second", *said)
    report = machine.capture()
    assert (report.fragments, report.events) == (1, 3)


def test_a_record_that_a_file_repeats_is_one_event(machine: Machine) -> None:
    machine.write("a", "one")
    machine.capture()
    machine.write("a", {"id": "again", "text": "two"}, {"id": "again", "text": "two"}, more=True)
    machine.capture()
    assert machine.texts() == ["one", "two"]
    machine.kept.letters()
    with machine.kept.rebuilt() as fresh:
        assert contents(machine.kept) == contents(fresh)


def test_a_vanished_transcript_deletes_nothing(machine: Machine) -> None:
    machine.write("a", "one").unlink()
    machine.write("b", "two")
    machine.capture()
    (machine.transcripts / "b.jsonl").unlink()
    report = machine.capture()
    assert (report.events, report.unchanged, dict(report.skipped)) == (0, 0, {})
    assert machine.texts() == ["two"]


def test_older_transcripts_are_left_out_on_request_and_taken_later(machine: Machine) -> None:
    old, new = machine.write("old", "one"), machine.write("new", "two")
    os.utime(old, ns=(10, 10))
    os.utime(new, ns=(20, 20))
    report = machine.capture(since_ns=20)
    assert machine.texts() == ["two"]
    assert dict(report.skipped) == {"older than --since": 1}
    assert machine.capture().events == 1


def test_the_workspace_and_the_title_come_also_where_they_come_late(machine: Machine) -> None:
    machine.write("a", {"text": "a setting", "role": "system"})
    machine.capture()
    machine.write("a", {"text": "where is the crane", "cwd": "/srv/mill"}, more=True)
    machine.capture()
    found = machine.kept.index.connection.execute(
        "SELECT c.title, w.path FROM conversations c JOIN workspaces w ON w.id = c.workspace"
    ).fetchall()
    assert found == [("where is the crane", "/srv/mill")]
    workspaces = "SELECT w.path FROM records r JOIN workspaces w ON w.id = r.workspace"
    assert machine.kept.index.connection.execute(workspaces).fetchall() == [("/srv/mill",)]


def test_secrets_are_counted_and_stay_outside(machine: Machine) -> None:
    machine.write("a", f"it is {SECRET} and {SECRET}")
    assert machine.capture().redactions == 2
    assert machine.texts() == ["it is [REDACTED:token] and [REDACTED:token]"]
    for path in machine.kept.root.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_a_sidechain_is_a_conversation_of_its_own_linked_to_its_parent(machine: Machine) -> None:
    machine.provider = PROVIDERS["claude-code"]
    session = "5f0c9a52-9d1e-4a60-8a3b-0a5d5e1f0001"
    record = {
        "type": "user", "sessionId": session, "cwd": "/srv/mill", "userType": "external", "parentUuid": None,
        "timestamp": "2026-03-01T08:00:00.000Z",
    }  # fmt: skip
    for name, uuid, is_side, text in (
        (f"-srv-mill/{session}", "u1", False, "walk the folders"),
        (f"-srv-mill/{session}/subagents/agent-a1", "u2", True, "walk the flamingo folder"),
    ):
        message = {"role": "user", "content": text}
        more = {"agentId": "a1"} if is_side else {}
        machine.write(name, {**record, "uuid": uuid, "isSidechain": is_side, "message": message, **more})
    machine.capture()
    rows = machine.kept.index.connection.execute(
        "SELECT hex(conversation_id), parent_id FROM conversations ORDER BY parent_id IS NOT NULL"
    ).fetchall()
    assert len(rows) == 2
    assert rows[0][1] is None
    assert rows[1][1] == rows[0][0].lower()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_counted_and_named_and_the_rest_goes_on(machine: Machine) -> None:
    machine.write("a", "one").chmod(0)
    machine.write("b", "two")
    report = machine.capture()
    assert machine.texts() == ["two"]
    assert (dict(report.skipped), report.unreadable) == ({"unreadable file": 1}, ["a.jsonl"])


def test_a_file_that_became_something_else_is_counted_and_the_rest_goes_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = machine.write("a", "one")
    machine.write("b", "two")
    sources = list(machine.provider.sources(machine.transcripts))
    path.unlink()
    path.mkdir()
    monkeypatch.setattr(type(machine.provider), "sources", lambda _self, _root: iter(sources))
    report = machine.capture()
    assert machine.texts() == ["two"]
    assert (dict(report.skipped), report.unreadable) == ({"unreadable file": 1}, ["a.jsonl"])


def test_unreadable_sources_are_all_counted_and_the_first_are_named() -> None:
    report = CaptureReport()
    report.name_unreadable("unreadable directory", [f"d{number}" for number in range(NAMED_MAX - 1)])
    report.name_unreadable("unreadable file", ["a", "b", "c"])
    assert report.skipped == {"unreadable directory": NAMED_MAX - 1, "unreadable file": 3}
    assert report.unreadable[-2:] == [f"d{NAMED_MAX - 2}", "a"]


def test_a_survey_counts_and_writes_nothing(machine: Machine) -> None:
    machine.write("a", f"it is {SECRET}")
    machine.write("b", "two")
    machine.capture()
    machine.write("a", "three", more=True)
    machine.write("c", "four")
    before = state_of(machine)
    told: list[int] = []
    options = CaptureOptions(on_progress=lambda report, total: told.append(total - report.bytes_read))
    report = survey(machine.store, machine.maker, machine.places, options)
    assert (report.fragments, report.events, report.unchanged) == (2, 2, 1)
    assert told[-1] == 0
    assert state_of(machine) == before
    assert machine.capture().events == 2


def test_progress_ends_at_the_total(machine: Machine) -> None:
    machine.write("a", "one")
    machine.write("b", "two")
    told: list[tuple[int, int]] = []
    options = CaptureOptions(on_progress=lambda report, total: told.append((report.bytes_read, total)))
    capture_module.capture(machine.state, machine.places, options)
    assert told[-1][0] == told[-1][1] > told[0][0]


def test_a_crash_before_the_cursor_is_stored_repeats_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write("a", "one", "two")
    with monkeypatch.context() as patch:
        patch.setattr(type(machine.store), "set_cursors", fail)
        with pytest.raises(DiskFull):
            machine.capture()
    assert machine.store.cursors("generic", str(machine.transcripts)) == {}
    assert machine.fragments() == 1
    machine.write("a", "three", more=True)
    report = machine.capture()
    assert (report.fragments, report.events) == (1, 1)
    assert machine.texts() == ["one", "two", "three"]
    assert [event.text for event in machine.conversation("a").events] == ["one", "two", "three"]


def test_lost_cursors_cost_a_reading_and_nothing_else(machine: Machine) -> None:
    machine.write("a", "one", "two")
    machine.capture()
    head = machine.kept.archive.log.head()
    machine.store.forget_reading()
    report = machine.capture()
    assert (report.fragments, report.unchanged) == (0, 0)
    assert machine.kept.archive.log.head() == head
    assert machine.capture().unchanged == 1


def fail(*_given: object) -> None:
    """Fail as a full disk does."""
    raise DiskFull("no space left")


STEPS = st.lists(
    st.tuples(st.sampled_from(("a", "b")), st.integers(1, 3), st.sampled_from(("grow", "copy", "capture"))),
    min_size=1,
    max_size=8,
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_however_files_grow_and_are_copied_each_event_is_kept_once(
    steps: list[tuple[str, int, str]],
) -> None:
    with (
        tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder,
        closing(Machine(Path(folder) / "m")) as machine,
    ):
        told = {"a": 0, "b": 0}
        for number, (name, count, act) in enumerate(steps):
            if act == "grow":
                lines = [turn(name, told[name] + place) for place in range(count)]
                machine.write(name, *lines, more=told[name] > 0)
                told[name] += count
            elif act == "copy" and told[name]:
                machine.write(f"{name}-{number}", *(turn(name, place) for place in range(told[name])))
            else:
                machine.capture()
        machine.capture()
        sessions = {name: count for name, count in told.items() if count}
        for name, count in sessions.items():
            texts = [event.text for event in machine.conversation(name).events]
            assert texts == [turn(name, place)["text"] for place in range(count)]
        assert held(machine, sessions) == sum(told.values()), "the archive holds no event twice"
        machine.kept.letters()
        with machine.kept.rebuilt() as fresh:
            assert contents(machine.kept) == contents(fresh)


def turn(session: str, place: int) -> dict[str, object]:
    """Make a line of a session."""
    return {"id": f"e{place}", "text": f"turn {place} of {session}", "session": session}


def held(machine: Machine, sessions: Iterable[str]) -> int:
    """Count the events in all fragments of some sessions."""
    catalog = machine.kept.catalog
    rows = [catalog.find(conversation_id("generic", session)) for session in sessions]
    return sum(len(item.fragment.events) for row in rows if row for item in catalog.fragments(row))
