"""The import of shared memory: nothing is lost, nothing is doubled, and a bad line refuses the file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from crdt import archive_file
from crdt.errors import ArchiveRefused, Unavailable
from node.services import memory_import, records
from node.services.catalog import Document
from node.services.memory_file import FORM, OperationLine, SpaceLine, encode_line
from tests.node.little_room import stopped_by_little_room
from tests.node.services.memory_kit import Kept, keeping

SECRET = "ghp_" + "a1B2" * 9
HASH = "11" * 32


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "state") as found:
        yield found


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "other") as found:
        yield found


def carry(source: Kept, target: Kept, path: Path) -> Document:
    """Export from one and import into another."""
    source.call("memory.export", path=str(path), private=True)
    return target.call("memory.import", path=str(path))


def said(kept: Kept, path: Path) -> list[str]:
    """Give what an export says, without the ids of spaces, which belong to their state directory."""
    kept.call("memory.export", path=str(path), private=True)
    lines = [line.data for line in archive_file.lines(path)]
    return sorted(line.decode() for line in lines if b'"line":"space"' not in line)


def shown(kept: Kept) -> list[Document]:
    """Give all entries as people see them; hashes belong to the feed that they are in."""
    documents = kept.items("memory.list", deleted=True, limit=500)
    for document in documents:
        del document["effective_confidence"]
        for conflict in cast("list[Document]", document["conflicts"]):
            del conflict["hash"]
    return sorted(documents, key=lambda document: str(document["id"]))


def fill(kept: Kept, seed: int, rounds: int = 40) -> None:
    """Keep, change, tear apart, delete and restore at random."""
    chance = random.Random(seed)  # noqa: S311 - a seed replays what failed
    ids = [kept.add("one\ntwo\nthree", tags=["t"], scope=scope) for scope in ("project", "project", "agent")]
    calls: list[Callable[[str], object]] = [
        lambda one: kept.call("memory.edit", id=one, text=f"one {chance.random()}\ntwo\nthree"),
        lambda one: kept.call("memory.edit", id=one, fields={"headline": str(chance.random())}),
        lambda one: kept.edit_at_once(
            one, f"x{chance.random()}\ntwo\nthree", f"one\ntwo\ny{chance.random()}"
        ),
        lambda one: kept.edit_at_once(one, f"left {chance.random()}", f"right {chance.random()}"),
        lambda one: kept.call(
            "memory.tag", id=one, add=[chance.choice("abc")], remove=[chance.choice("abct")]
        ),
        lambda one: kept.call("memory.revert", id=one, version=1),
        lambda one: kept.call("memory.delete", ids=[one]),
        lambda one: kept.call("memory.restore", id=one),
        lambda _one: ids.append(kept.add(f"new {chance.random()}", agent="bot")),
        lambda _one: kept.call("decision.add", decision=f"decided {chance.random()}"),
    ]
    for _ in range(rounds):
        one = chance.choice(ids)
        if "deleted_at" in kept.get(one):
            kept.call("memory.restore", id=one)
        chance.choice(calls)(one)


@pytest.mark.parametrize("batch", [1, 3, 500])
def test_a_round_trip_loses_nothing(
    kept: Kept, other: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(memory_import, "BATCH_LINES", batch)
    old = kept.call("decision.add", decision="old")
    kept.call("decision.add", decision="new", supersedes=[old["id"]])
    shared = kept.add("one line", type="doc", collaborative=True)
    kept.edit_at_once(shared, "one long line", "one line more")
    fill(kept, seed=batch)
    report = carry(kept, other, tmp_path / "a.jsonl")
    assert (report["added"], report["unchanged"]) == (report["operations"], 0)
    assert shown(other) == shown(kept)
    assert said(other, tmp_path / "b.jsonl") == said(kept, tmp_path / "a.jsonl")
    assert other.items("decision.list") == kept.items("decision.list")


def test_twice_changes_nothing_and_neither_does_the_file_of_this_very_state(
    kept: Kept, other: Kept, tmp_path: Path
) -> None:
    fill(kept, 4, rounds=15)
    carry(kept, other, tmp_path / "a.jsonl")
    heads = kept.local.feeds.head(), other.local.feeds.head()
    for target in (kept, other):
        report = target.call("memory.import", path=str(tmp_path / "a.jsonl"))
        assert (report["added"], report["unchanged"]) == (0, report["operations"])
    assert carry(other, kept, tmp_path / "b.jsonl")["added"] == 0, "what went out comes home"
    assert (kept.local.feeds.head(), other.local.feeds.head()) == heads


def test_a_second_file_brings_what_is_new_and_meets_what_was_changed_here(
    kept: Kept, other: Kept, tmp_path: Path
) -> None:
    identity = kept.add("start")
    carry(kept, other, tmp_path / "a.jsonl")
    kept.call("memory.edit", id=identity, text="there")
    other.call("memory.edit", id=identity, text="here")
    report = carry(kept, other, tmp_path / "a.jsonl")
    assert (report["added"], report["unchanged"]) == (1, 1)
    found = other.get(identity)
    (conflict,) = cast("list[Document]", found["conflicts"])
    assert {found["content"], conflict["content"]} == {"here", "there"}
    carry(other, kept, tmp_path / "b.jsonl")
    assert shown(kept)[0]["version"] == 3
    assert {kept.get(identity)["content"]} <= {"here", "there"}


def test_authors_and_times_survive_several_journeys(kept: Kept, other: Kept, tmp_path: Path) -> None:
    identity = kept.add("the pier", agent="ann")
    carry(kept, other, tmp_path / "a.jsonl")
    with keeping(tmp_path / "third") as third:
        carry(other, third, tmp_path / "b.jsonl")
        assert shown(third) == shown(kept)
        assert third.get(identity)["agent"] == "ann"
        assert said(third, tmp_path / "c.jsonl") == said(kept, tmp_path / "a.jsonl")


def test_an_import_that_was_cut_off_is_finished_by_the_next(
    kept: Kept, other: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(kept, 5, rounds=20)
    monkeypatch.setattr(memory_import, "BATCH_LINES", 4)
    write, left = records.write, iter([True, True, True, False])

    def cut(*args: object) -> object:
        if not next(left):
            raise Unavailable("the light went out")
        return write(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(records, "write", cut)
        with pytest.raises(Unavailable):
            carry(kept, other, tmp_path / "a.jsonl")
    assert 0 < len(said(other, tmp_path / "b.jsonl")) < len(said(kept, tmp_path / "a.jsonl"))
    assert other.call("memory.import", path=str(tmp_path / "a.jsonl"))["unchanged"]
    assert said(other, tmp_path / "b.jsonl") == said(kept, tmp_path / "a.jsonl")
    assert shown(other) == shown(kept)


def test_little_room_stops_an_import_before_the_next_lines(
    kept: Kept, other: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(kept, 5, rounds=20)
    monkeypatch.setattr(memory_import, "BATCH_LINES", 4)
    for looks in (0, 3):
        with stopped_by_little_room(looks):
            carry(kept, other, tmp_path / "a.jsonl")
        assert bool(said(other, tmp_path / "b.jsonl")) == bool(looks)
    assert len(said(other, tmp_path / "b.jsonl")) < len(said(kept, tmp_path / "a.jsonl"))
    assert other.call("memory.import", path=str(tmp_path / "a.jsonl"))["unchanged"]
    assert shown(other) == shown(kept)


def test_spaces_are_met_by_kind_and_label(kept: Kept, other: Kept, tmp_path: Path) -> None:
    kept.call("spaces.create", label="team")
    identity = kept.add("for the team", space="team")
    with pytest.raises(ArchiveRefused, match=r"line .*no space `team`") as refused:
        carry(kept, other, tmp_path / "a.jsonl")
    assert "atrium spaces create team" in refused.value.hint
    assert other.ids() == []
    other.call("spaces.create", label="team")
    carry(kept, other, tmp_path / "a.jsonl")
    assert other.get(identity)["space"] == "team"


def test_what_was_private_stays_private(kept: Kept, other: Kept, tmp_path: Path) -> None:
    identity = kept.add("for me", scope="agent")
    carry(kept, other, tmp_path / "a.jsonl")
    assert other.get(identity)["space"] == "private"


def test_secrets_are_redacted_on_the_way_in(kept: Kept, tmp_path: Path) -> None:
    line = _operation(text=f"the token is {SECRET}", set={"kind": "memory", "headline": SECRET})
    kept.call("memory.import", path=str(_file(tmp_path, line)))
    (found,) = kept.items("memory.list")
    assert str(found["content"]).startswith("the token is ")
    assert SECRET not in str(found)


def _operation(**changes: object) -> OperationLine:
    given: dict[str, object] = {
        "id": "r-1", "type": "memory", "agent": "bot", "at": 1 << 20, "by": "bot@there", "source": HASH,
        "text": "the pier", "set": {"kind": "memory"},
    }  # fmt: skip
    return OperationLine(**{**given, **changes})  # type: ignore[arg-type]


def _file(folder: Path, *lines: OperationLine | bytes, space: bool = True) -> Path:
    """Write a file of a home space, a good line, and the given ones."""
    first = [encode_line(SpaceLine(id="00" * 32, kind="home", label="home"))] if space else []
    path = folder / "given.jsonl"
    data = [line if isinstance(line, bytes) else encode_line(line) for line in lines]
    archive_file.write(path, [*first, *data], form=FORM)
    return path


@pytest.mark.parametrize(
    "bad",
    [
        b"not json",
        b'{"line":"operation"}',
        _operation(type="song"),
        _operation(set={"kind": "song"}),
        _operation(set={"kind": "memory", "colour": "red"}),
        _operation(set={}),
        _operation(text=" "),
        _operation(text="x" * (256 * 1024 + 1)),
        _operation(tag=["t" * 101]),
        _operation(base=["22"]),
        _operation(id=""),
        _operation(agent="a" * 65),
        _operation(type="edge", set={"from": "a", "to": "b", "relation": "c"}, text=None),
        _operation(update=f"\0{SECRET}\0".encode(), text=None, base=[HASH], source="33" * 32),
        _operation(agent=SECRET),
        _operation(by=f"{SECRET}@there"),
        _operation(id=SECRET),
    ],
    ids=range(17),
)
def test_a_bad_line_refuses_the_whole_file_by_its_number(
    kept: Kept, tmp_path: Path, bad: OperationLine | bytes
) -> None:
    kept.local.feeds.home()
    head = kept.local.feeds.head()
    with pytest.raises(ArchiveRefused, match=r"line 4 of given\.jsonl"):
        kept.call("memory.import", path=str(_file(tmp_path, _operation(), bad)))
    assert kept.local.feeds.head() == head


def test_a_file_that_is_no_such_file_is_refused(kept: Kept, tmp_path: Path) -> None:
    path = _file(tmp_path, _operation(), space=False)
    with pytest.raises(ArchiveRefused, match=r"line 2 .*which space"):
        kept.call("memory.import", path=str(path))
    path = _file(tmp_path, _operation(), _operation(source="22" * 32, base=[HASH]))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ArchiveRefused, match="line 4"):
        kept.call("memory.import", path=str(path))
    path.write_bytes(whole[: whole.rstrip().rfind(b"\n") + 1])
    with pytest.raises(ArchiveRefused, match="hash"):
        kept.call("memory.import", path=str(path))
    archive_file.write(path, [])
    with pytest.raises(ArchiveRefused, match="kind"):
        kept.call("memory.import", path=str(path))
    assert kept.ids() == []


def test_a_line_beyond_the_limit_is_refused_before_it_is_read_whole(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_import, "LINE_BYTES_MAX", 300)
    with pytest.raises(ArchiveRefused, match="line 3"):
        kept.call("memory.import", path=str(_file(tmp_path, _operation(text="x" * 400))))


def test_a_long_history_of_one_record_comes_in_as_it_was(kept: Kept, other: Kept, tmp_path: Path) -> None:
    identity = kept.add("0")
    for number in range(1, 30):
        kept.call("memory.edit", id=identity, text=str(number))
    carry(kept, other, tmp_path / "a.jsonl")
    history = other.items("memory.history", id=identity)
    assert [version["content"] for version in history] == [str(number) for number in range(30)]


def test_what_is_imported_is_found_by_a_search(kept: Kept, other: Kept, tmp_path: Path) -> None:
    kept.add("the lighthouse keeper")
    carry(kept, other, tmp_path / "a.jsonl")
    assert [hit["text"] for hit in other.items_of_search("lighthouse")] == ["the lighthouse keeper"]
