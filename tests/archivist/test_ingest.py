"""An archive file is taken in whole or not at all; what is known, corrected, gone and back is told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from archivist import ingest as ingest_module
from archivist.redact import Redactor
from archivist.sealing import BULK_CONVERSATIONS
from crdt.errors import ArchiveRefused, DiskFull, NotFound
from crdt.ids import conversation_id, event_id
from tests.archivist.machine import Machine, archive_file, said
from tests.retrieval.follow_kit import contents

SECRET = "gh" + "p_" + "a1B2" * 9


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Give a machine on which nothing was ingested."""
    with closing(Machine(tmp_path)) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name an archive file."""
    return tmp_path / "archive.jsonl"


def names(machine: Machine) -> set[str]:
    """Name the conversations that are served."""
    query = "SELECT source_id FROM conversations WHERE removed_hlc = 0"
    return {name for (name,) in machine.kept.index.connection.execute(query)}


def test_conversations_are_archived_and_searchable(machine: Machine, file: Path) -> None:
    report = machine.ingest(archive_file(file, [said("a", "one", "two"), said("b", "three")]))
    assert machine.texts() == ["one", "two", "three"]
    assert (report.conversations, report.unchanged, report.removed, report.revived) == (2, 0, [], [])
    assert [seen.source for seen in report.lines] == ["codex", "codex"]


def test_the_same_file_again_writes_nothing(machine: Machine, file: Path) -> None:
    archive_file(file, [said("a", "one"), said("b", "two")])
    machine.ingest(file)
    head, changes = machine.kept.archive.log.head(), machine.kept.index.connection.total_changes
    report = machine.ingest(file)
    assert (report.conversations, report.unchanged) == (2, 2)
    assert (machine.kept.archive.log.head(), machine.kept.index.connection.total_changes) == (head, changes)


def test_lines_that_nobody_remembers_are_compared_and_write_nothing(machine: Machine, file: Path) -> None:
    archive_file(
        file, [said("a", "one", "two"), said("b", "ok"), {**said("c"), "events": [plain("x"), plain("y")]}]
    )
    machine.ingest(file)
    head, fragments = machine.kept.archive.log.head(), machine.fragments()
    machine.ingested.clear()
    assert machine.ingest(file).unchanged == 3
    assert (machine.kept.archive.log.head(), machine.fragments()) == (head, fragments)


def test_remembered_lines_of_another_archive_are_taken_in(machine: Machine, tmp_path: Path) -> None:
    file = archive_file(tmp_path / "archive.jsonl", [said("a", "one")])
    machine.ingest(file)
    with closing(Machine(tmp_path / "other")) as other:
        other.ingested = machine.ingested
        assert other.ingest(file).unchanged == 0
        assert other.texts() == ["one"]


def test_a_corrected_conversation_is_served_corrected(machine: Machine, file: Path) -> None:
    machine.ingest(archive_file(file, [said("a", "one", "two")]))
    report = machine.ingest(archive_file(file, [said("a", "one", "two, corrected")]))
    assert report.unchanged == 0
    assert machine.texts() == ["one", "two, corrected"]
    assert [event.text for event in machine.conversation("a", "codex").events] == ["one", "two, corrected"]


def test_a_title_that_says_more_than_the_prompt_is_kept_and_corrected(machine: Machine, file: Path) -> None:
    title = "SELECT title FROM conversations"
    for given, expected in (("one", "one"), ("The crane", "The crane"), ("The mill", "The mill")):
        machine.ingest(archive_file(file, [said("a", "one", title=given)]))
        assert machine.kept.index.connection.execute(title).fetchone() == (expected,)


def test_a_title_that_is_the_session_s_own_id_gives_way_to_a_prompt(machine: Machine, file: Path) -> None:
    machine.ingest(archive_file(file, [said("a", title="a")]))
    machine.ingest(archive_file(file, [said("a", "where is the crane")]))
    query = "SELECT title FROM conversations"
    assert machine.kept.index.connection.execute(query).fetchone() == ("where is the crane",)


def test_a_full_ingest_removes_what_only_an_earlier_one_brought(machine: Machine, file: Path) -> None:
    machine.write("mine", "captured")
    machine.capture()
    machine.ingest(
        archive_file(file, [said("a", "one"), said("b", "two"), said("other", "x", source="gemini")])
    )
    report = machine.ingest(archive_file(file, [said("a", "one")]))
    assert report.removed == [conversation_id("codex", "b")]
    assert names(machine) == {"mine", "a", "other"}, "of other sources nothing is known"
    assert machine.conversation("b", "codex").events[0].text == "two", "nothing is erased"


def test_a_captured_conversation_is_never_removed(machine: Machine, file: Path) -> None:
    machine.write("mine", "captured")
    machine.capture()
    machine.ingest(
        archive_file(file, [said("mine", "ingested", source="generic"), said("x", "y", source="generic")])
    )
    report = machine.ingest(archive_file(file, [said("x", "y", source="generic")]))
    assert report.removed == []
    assert names(machine) == {"mine", "x"}


def test_a_conversation_that_was_ingested_and_then_captured_stays(machine: Machine, file: Path) -> None:
    machine.ingest(archive_file(file, [said("mine", "ingested", source="generic")]))
    machine.write("mine", "captured")
    machine.capture()
    assert machine.ingest(archive_file(file, [said("x", "y", source="generic")])).removed == []


def test_a_partial_ingest_and_an_incomplete_file_remove_nothing(machine: Machine, file: Path) -> None:
    machine.ingest(archive_file(file, [said("a", "one"), said("b", "two")]))
    assert machine.ingest(archive_file(file, [said("c", "three")]), partial=True).removed == []
    assert machine.ingest(archive_file(file, [said("c", "three")], complete=False)).removed == []
    assert names(machine) == {"a", "b", "c"}


def test_an_empty_archive_says_nothing_of_any_source(machine: Machine, file: Path) -> None:
    machine.ingest(archive_file(file, [said("a", "one")]))
    report = machine.ingest(archive_file(file, []))
    assert (report.conversations, report.removed) == (0, [])
    assert names(machine) == {"a"}


@pytest.mark.parametrize("texts", [("one",), ("one, corrected",), ("one", "more")])
def test_a_removed_conversation_comes_back(machine: Machine, file: Path, texts: tuple[str, ...]) -> None:
    both = [said("a", "one"), said("b", "two")]
    machine.ingest(archive_file(file, both))
    machine.ingest(archive_file(file, both[1:]))
    assert machine.texts() == ["two"]
    report = machine.ingest(archive_file(file, [said("a", *texts), both[1]]))
    assert sorted(machine.texts()) == sorted([*texts, "two"])
    assert report.removed == []
    assert machine.ingest(file).revived == [], "it is back"
    with machine.kept.rebuilt() as fresh:
        assert contents(machine.kept)["records"] == contents(fresh)["records"]


def test_a_removed_conversation_stays_removed_through_sealing_and_rebuilding(
    machine: Machine, file: Path
) -> None:
    machine.ingest(archive_file(file, [said("a", "one"), said("b", "two")]))
    machine.ingest(archive_file(file, [said("b", "two")]))
    machine.kept.archive.seal()
    machine.kept.follow()
    assert machine.texts() == ["two"]
    with machine.kept.rebuilt() as fresh:
        assert contents(fresh)["records"] == contents(machine.kept)["records"]


def plain(text: str, **more: object) -> dict[str, object]:
    """Make an event without an id."""
    return {"kind": "message", "role": "user", "text": text, **more}


@pytest.mark.parametrize("more", [{}, {"id": None}, {"id": ""}], ids=["absent", "null", "empty"])
def test_events_without_an_id_are_kept_and_not_indexed(
    machine: Machine, file: Path, more: dict[str, object]
) -> None:
    events = [plain("one", **more), plain("two", **more), plain("three", id=event_id("x", "m"))]
    machine.ingest(archive_file(file, [{**said("a"), "events": events}]))
    assert machine.texts() == ["three"]
    assert [event.text for event in machine.conversation("a", "codex").events] == ["one", "two", "three"]
    assert machine.conversation("a", "codex").events[0].id is None


def test_ids_of_version_1_are_qualified(machine: Machine, file: Path) -> None:
    events = [plain("one", id="m0"), plain("two", id="m1", parent="m0")]
    old = {key: value for key, value in said("a").items() if key != "schemaVersion"}
    machine.ingest(archive_file(file, [{**old, "events": events}], schemaVersion=1))
    identity = conversation_id("codex", "a")
    found = machine.conversation("a", "codex").events
    assert [event.id for event in found] == [event_id(identity, "m0"), event_id(identity, "m1")]
    assert found[1].parent == event_id(identity, "m0")
    same = {
        **said("a"),
        "events": [plain("one", id=event_id(identity, "m0")), plain("two", id=event_id(identity, "m1"))],
    }
    assert machine.ingest(archive_file(file, [same])).unchanged == 1


def test_a_conversation_s_own_version_outranks_the_file_s(machine: Machine, file: Path) -> None:
    machine.ingest(archive_file(file, [said("a", "one", schemaVersion=1)]))
    assert machine.conversation("a", "codex").events[0].id == event_id(conversation_id("codex", "a"), "m0")


def test_the_order_of_the_file_is_kept(machine: Machine, file: Path) -> None:
    events = [
        plain(text, id=event_id("x", text), timestamp="2026-03-01T08:00:00.000Z") for text in ("z", "a", "m")
    ]
    machine.ingest(archive_file(file, [{**said("a"), "events": events}]))
    assert machine.texts() == ["z", "a", "m"]


def test_two_lines_of_one_conversation_are_one_conversation(machine: Machine, file: Path) -> None:
    report = machine.ingest(archive_file(file, [said("a", "one"), said("a", "one", "two"), said("a", "one")]))
    assert (report.conversations, report.unchanged) == (3, 1)
    assert machine.texts() == ["one", "two"]
    assert machine.fragments() == 2
    assert machine.ingest(file).unchanged == 3


def test_an_event_id_that_a_line_repeats_is_one_event(machine: Machine, file: Path) -> None:
    twice = [plain("one", id=event_id("x", "m")), plain("one", id=event_id("x", "m"))]
    machine.ingest(archive_file(file, [{**said("a"), "events": twice}]))
    assert machine.texts() == ["one"]
    machine.ingested.clear()
    assert machine.ingest(file).unchanged == 1


def test_everything_is_redacted_again(machine: Machine, file: Path) -> None:
    leaking = said(
        "a",
        f"it is {SECRET}",
        title=f"title {SECRET}",
        workspace=f"/srv/{SECRET}",
        startedAt=f"token={SECRET}",
        provenance={"relativePath": f"{SECRET}.jsonl", "redactions": 3},
    )
    leaking["events"][0]["timestamp"] = f"token={SECRET}"  # type: ignore[index]
    machine.ingest(archive_file(file, [leaking]))
    for path in machine.kept.root.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    found = machine.conversation("a", "codex")
    assert found.events[0].text == "it is [REDACTED:token]"
    assert found.provenance.redactions == 4


def test_a_history_is_sealed_at_the_end_and_what_came_to_it_waits(machine: Machine, file: Path) -> None:
    names = [f"s{number}" for number in range(BULK_CONVERSATIONS)]
    for texts, waiting in ((["one"], 0), (["one", "two"], len(names))):
        machine.ingest(archive_file(file, [said(name, *texts) for name in names]))
        (segment,) = machine.kept.archive.current().values()
        assert len(segment.fragments) == len(names)
        assert len(machine.kept.archive.log.tails()) == waiting


def test_a_conversation_of_many_lines_is_one_new_one(machine: Machine, file: Path) -> None:
    lines = [said("a", *["text"] * number) for number in range(1, BULK_CONVERSATIONS + 1)]
    machine.ingest(archive_file(file, lines))
    assert machine.kept.archive.current() == {}


def test_many_conversations_are_sealed_and_few_wait(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.ingest(archive_file(file, [said("few", "one")]))
    assert machine.kept.archive.current() == {}
    monkeypatch.setattr(ingest_module, "SEGMENT_FRAGMENTS_MAX", 2)
    machine.ingest(archive_file(file, [said(f"s{number}", "one") for number in range(5)]), partial=True)
    assert sorted(len(segment.fragments) for segment in machine.kept.archive.current().values()) == [1, 2, 2]
    assert len(machine.texts()) == 6


REFUSED: dict[str, tuple[bytes | Mapping[str, object], str]] = {
    "cut in its middle": (json.dumps(said("b", "two")).encode()[:-9], "line 3"),
    "no object": (b'["b"]', "line 3"),
    "no UTF-8": (b'{"id": "\xff"}', "line 3"),
    "nested too deep": (b"[" * 100_000, "line 3"),
    "an id of another": ({**said("b", "two"), "sourceId": "c"}, "line 3"),
    "no events": ({key: value for key, value in said("b").items() if key != "events"}, "line 3"),
    "a kind that is not known": ({**said("b"), "events": [{**plain("x"), "kind": "rumour"}]}, "event 0"),
    "a role that is not known": (
        {**said("b"), "events": [plain("x"), {**plain("y"), "role": "king"}]},
        "event 1",
    ),
    "a text that is none": ({**said("b"), "events": [{**plain("x"), "text": 7}]}, "line 3"),
    "an empty line": (b"", "line 3"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_line_that_is_no_conversation_is_named_and_nothing_is_taken(
    machine: Machine, file: Path, fault: str
) -> None:
    machine.ingest(archive_file(file, [said("old", "treaty"), said("gone", "doomed")]))
    before = (
        contents(machine.kept),
        machine.kept.archive.log.head(),
        list(machine.kept.archive.segments.names()),
    )
    bad, where = REFUSED[fault]
    many = [said(f"n{number}", "new") for number in range(3)]
    with pytest.raises(ArchiveRefused) as raised:
        machine.ingest(archive_file(file, [said("a", "one"), bad, *many]))
    assert file.name in raised.value.detail
    assert where in raised.value.detail
    after = (
        contents(machine.kept),
        machine.kept.archive.log.head(),
        list(machine.kept.archive.segments.names()),
    )
    assert after == before


@pytest.mark.parametrize(
    ("manifest", "named"),
    [
        ({"records": 3}, "records"),
        ({"contentSha256": "0" * 64}, "hash"),
        ({"kind": "another"}, "line 1"),
        ({"schemaVersion": 3}, "schemaVersion"),
        ({"contentSha256": 7}, "line 1"),
    ],
)
def test_a_manifest_that_is_wrong_is_told_and_nothing_is_taken(
    machine: Machine, file: Path, manifest: dict[str, object], named: str
) -> None:
    with pytest.raises(ArchiveRefused, match=named):
        machine.ingest(archive_file(file, [said("a", "one")], **manifest))
    assert machine.kept.archive.log.head() == 0


def test_a_file_that_is_not_there_is_told(machine: Machine, file: Path) -> None:
    with pytest.raises(NotFound, match=file.name):
        machine.ingest(file)


def test_a_failure_before_the_log_is_written_names_nothing_and_leaves_nothing(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_file(file, [said(f"s{number}", "one") for number in range(5)])
    monkeypatch.setattr(ingest_module, "SEGMENT_FRAGMENTS_MAX", 2)
    with monkeypatch.context() as patch:
        patch.setattr(machine.kept.archive, "commit", fail)
        with pytest.raises(DiskFull):
            machine.ingest(file)
    assert machine.kept.archive.log.head() == 0
    assert list(machine.kept.archive.segments.names()) == []
    assert machine.ingest(file).unchanged == 0
    assert len(machine.texts()) == 5


def test_a_failure_after_the_log_was_written_is_mended_by_following(
    machine: Machine, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_file(file, [said("a", "one"), said("b", "two")])
    with monkeypatch.context() as patch:
        patch.setattr(type(machine.kept.follower), "apply", fail)
        with pytest.raises(DiskFull):
            machine.ingest(file)
    machine.ingested.clear()
    fragments = machine.fragments()
    report = machine.ingest(file)
    assert (report.unchanged, machine.fragments()) == (2, fragments)
    assert machine.texts() == ["one", "two"]


def test_a_newer_redactor_reads_every_line_again_and_keeps_what_is_the_same(
    machine: Machine, file: Path
) -> None:
    archive_file(file, [said("a", "one"), said("b", "my word")])
    machine.ingest(file)
    machine.ingested.clear()
    machine.redactor = Strict([])
    report = machine.ingest(file)
    assert report.unchanged == 1
    assert machine.texts() == ["one", "my [REDACTED:word]"]


class Strict(Redactor):
    """A redactor of a later version, to which `word` is a secret."""

    def __init__(self, homes: list[str]) -> None:
        super().__init__(homes)
        self.version += 1

    def redact(self, text: str) -> tuple[str, int]:
        """Take the word out, too."""
        text, count = super().redact(text)
        fresh = text.replace("my word", "my [REDACTED:word]")
        return fresh, count + (fresh != text)


def fail(*_given: object) -> None:
    """Fail as a full disk does."""
    raise DiskFull("no space left")
