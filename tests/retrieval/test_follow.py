"""The index follows the archive: appends cost what they add, all else makes a conversation anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from crdt.errors import DiskFull
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Tombstone
from retrieval.follow import ArchiveFollower
from retrieval.index_reader import open_reader
from retrieval.models import Deadline, Filter
from retrieval.query import parse_query
from retrieval.scope import Aliases
from tests.retrieval.follow_kit import Kept, body_of, contents

CONVERSATION = conversation_id("codex", "s")
RECORDS = "SELECT * FROM records ORDER BY id"
TEXTS = "SELECT t.text FROM records r JOIN texts t ON t.id = r.id ORDER BY r.event_index"


def event(place: int, text: str = "", **more: object) -> Event:
    """Make a user's message, one a second."""
    made = Event(
        id=event_id(CONVERSATION, f"m{place}"),
        kind=Kind.MESSAGE,
        role=Role.USER,
        text=text or f"turn {place}",
        seq=place,
        timestamp=f"2026-03-01T08:00:{place:02d}.000Z",
    )
    return msgspec.structs.replace(made, **more)


def fragment(events: Sequence[Event], **more: object) -> Fragment:
    """Make a fragment of one.jsonl."""
    made = Fragment(
        conversation_id=CONVERSATION,
        source="codex",
        source_id="s",
        origin=Origin.CAPTURE,
        relative_path="one.jsonl",
        workspace="/srv/mill",
        redactor_version=1,
        events=list(events),
    )
    return msgspec.structs.replace(made, **more)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an empty archive."""
    with closing(Kept(tmp_path)) as made:
        yield made


def texts(kept: Kept) -> list[str]:
    """List what is indexed, in order."""
    return [text for (text,) in kept.index.connection.execute(TEXTS)]


def changes(kept: Kept, *fragments: Fragment) -> tuple[bool, int]:
    """Append fragments: whether older rows stayed as they are, and how many rows were written."""
    connection = kept.index.connection
    older, before = connection.execute(RECORDS).fetchall(), connection.total_changes
    kept.append(*fragments)
    rows = connection.execute(RECORDS).fetchall()
    return rows[: len(older)] == older, connection.total_changes - before


def found(kept: Kept, query: str) -> list[str]:
    """Search by words: the texts that match, best first."""
    with closing(open_reader(kept.root / "index.db", kept.root / "absent.db", Aliases())) as reader:
        answer = reader.words(parse_query(query), Filter(), 50, Deadline())
        return [hit.text for hit in reader.hits(answer.candidates, "words")]


def test_an_append_touches_no_older_row_and_costs_what_it_adds(kept: Kept) -> None:
    kept.append(fragment([event(place) for place in range(50)]))
    untouched, few = changes(kept, fragment([event(50)]))
    assert untouched
    for place in range(51, 90):
        kept.append(fragment([event(place)]))
    assert changes(kept, fragment([event(90)])) == (True, few), "however long the conversation is"
    assert texts(kept) == [f"turn {place}" for place in range(91)]


def test_an_append_reads_nothing_of_the_archive(kept: Kept) -> None:
    kept.append(fragment([event(0)]), seal=True)
    for name in list(kept.archive.segments.names()):
        kept.archive.segments.remove(name)
    kept.append(fragment([event(1)]))
    assert texts(kept) == ["turn 0", "turn 1"]


def test_neighbours_before_a_record_are_searched_with_it_and_those_after_are_not(kept: Kept) -> None:
    kept.append(fragment([event(0, "crane"), event(1, "weir")]))
    kept.append(fragment([event(2, "mill"), event(3, "dam"), event(4, "lock")]))
    assert found(kept, "crane") == ["crane", "weir", "mill"]
    assert found(kept, "lock") == ["lock"]
    assert sorted(found(kept, "march")) == ["crane", "dam", "lock", "mill", "weir"]


def test_a_correction_is_searched_by_its_own_words_and_as_a_neighbour(kept: Kept) -> None:
    kept.append(fragment([event(0, "crane"), event(1, "weir")]))
    kept.append(fragment([event(0, "heron")]))
    assert found(kept, "crane") == []
    assert found(kept, "heron") == ["heron", "weir"]


def test_what_a_correction_makes_silent_leaves(kept: Kept) -> None:
    kept.append(fragment([event(0, "crane"), event(1, "weir")]))
    kept.append(fragment([event(0, "ok", seq=7)]))
    assert texts(kept) == ["weir"]
    assert found(kept, "crane") == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"title": "A title"}, ("A title", "/srv/mill", None, 0, 1)),
        ({"workspace": "/srv/another"}, ("turn 0", "/srv/mill", None, 0, 1)),
        ({"parent_id": "p"}, ("turn 0", "/srv/mill", "p", 0, 1)),
        ({"automation": True}, ("turn 0", "/srv/mill", None, 1, 1)),
        ({"origin": Origin.INGEST}, ("turn 0", "/srv/mill", None, 0, 1)),
    ],
)
def test_what_a_later_fragment_says_of_the_conversation_counts(
    kept: Kept, more: dict[str, object], expected: tuple[object, ...]
) -> None:
    kept.append(fragment([event(0)]))
    kept.append(fragment([event(1)], **more))
    row = kept.index.connection.execute(
        "SELECT c.title, w.path, c.parent_id, c.automation, c.captured "
        "FROM conversations c JOIN workspaces w ON w.id = c.workspace"
    ).fetchone()
    assert row == expected
    assert texts(kept) == ["turn 0", "turn 1"]


def test_the_first_prompt_and_the_first_directory_may_come_late(kept: Kept) -> None:
    kept.append(fragment([event(0, "set up", role=Role.SYSTEM)], workspace=None))
    kept.append(fragment([event(1, "where is the crane")]))
    query = "SELECT c.title, w.path FROM conversations c LEFT JOIN workspaces w ON w.id = c.workspace"
    assert kept.index.connection.execute(query).fetchone() == ("where is the crane", "/srv/mill")
    query = "SELECT w.path FROM records r LEFT JOIN workspaces w ON w.id = r.workspace"
    assert kept.index.connection.execute(query).fetchall() == [("/srv/mill",)]


def test_an_event_twice_in_one_fragment_is_one_record(kept: Kept) -> None:
    kept.append(fragment([event(0)]))
    kept.append(fragment([event(1, "twice"), event(1, "twice", seq=2)]))
    assert texts(kept) == ["turn 0", "twice"]


def test_an_event_without_a_time_stays_behind_its_own_file(kept: Kept) -> None:
    kept.append(fragment([event(0), event(1)]))
    kept.append(fragment([event(9, "elsewhere")], relative_path="two.jsonl"))
    kept.append(fragment([event(2, "untimed", timestamp=None), event(10, "later")]))
    assert texts(kept) == ["turn 0", "turn 1", "untimed", "elsewhere", "later"]


def test_the_first_time_in_a_file_counts_for_what_precedes_it(kept: Kept) -> None:
    kept.append(fragment([event(3)], relative_path="two.jsonl"))
    kept.append(fragment([event(0, "untimed", timestamp=None)]))
    assert texts(kept) == ["untimed", "turn 3"]
    kept.append(fragment([event(5)]))
    assert texts(kept) == ["turn 3", "untimed", "turn 5"]


def test_counts_are_of_what_was_done(kept: Kept) -> None:
    kept.archive.append([body_of(fragment([event(0), event(1, "ok")]))], seal=False)
    kept.archive.append([body_of(fragment([event(2), event(3, kind=Kind.TOOL_CALL)]))], seal=True)
    told: list[tuple[int, int]] = []
    done = kept.follower.catch_up(lambda applied, total: told.append((applied, total)))
    assert (done.written, len(done.conversations)) == (2, 1)
    assert done.tally.admitted == {"codex": 2}
    assert done.tally.rejected == {"empty or acknowledgement": 1, "kind tool-call": 1}
    assert told == [(1, 2), (2, 2)]
    again = kept.follow()
    assert (again.written, again.conversations, again.tally.admitted) == (0, set(), {})


def test_inputs_and_rows_add_up(kept: Kept) -> None:
    said = [event(place, ("turn", "ok", "")[place % 3] and f"x{place}" * (place % 2)) for place in range(30)]
    kept.archive.append([body_of(fragment(said[:10])), body_of(fragment(said[10:]))], seal=True)
    done = kept.follow()
    (events,) = kept.index.connection.execute("SELECT next_index FROM conversations").fetchone()
    (silent,) = kept.index.connection.execute("SELECT count(*) FROM silent").fetchone()
    admitted, rejected = done.tally.admitted.total(), done.tally.rejected.total()
    assert admitted + rejected == events == len(said)
    assert (len(texts(kept)), silent) == (admitted, rejected)


def test_a_fragment_that_comes_again_changes_nothing(kept: Kept) -> None:
    one = fragment([event(0), event(1)])
    kept.append(one)
    before = contents(kept)
    kept.append(one, seal=True)
    kept.archive.append([body_of(one)], seal=False)
    kept.follow()
    after = contents(kept)
    assert {key: value for key, value in after.items() if key != "fragments"} == {
        key: value for key, value in before.items() if key != "fragments"
    }


def test_a_manifest_that_fails_is_applied_whole_by_the_next_run(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.append(fragment([event(0)]))
    level = kept.archive.log.head()
    kept.archive.append([body_of(fragment([event(1)]))], seal=False)
    before = contents(kept)
    with monkeypatch.context() as patch:
        patch.setattr(kept.index, "add_silent", fail)
        with pytest.raises(DiskFull):
            kept.follow()
    assert contents(kept) == before
    assert kept.follower.watermark() == level
    kept.follow()
    assert texts(kept) == ["turn 0", "turn 1"]


def fail(*_given: object) -> None:
    """Fail as a full disk does."""
    raise DiskFull("no space left")


@pytest.mark.parametrize("revived", [False, True])
def test_a_tombstone_counts_until_something_newer_comes(kept: Kept, revived: bool) -> None:
    kept.append(fragment([event(0), event(1)]))
    kept.archive.commit([], tombstone=Tombstone(removed=[CONVERSATION]))
    kept.follow()
    assert texts(kept) == []
    assert found(kept, "turn") == []
    if revived:
        kept.archive.commit([], tombstone=Tombstone(revived=[CONVERSATION]))
        kept.follow()
        assert texts(kept) == ["turn 0", "turn 1"]
    kept.append(fragment([event(2)]))
    assert texts(kept) == ["turn 0", "turn 1", "turn 2"]


def test_a_tombstone_of_nobody_does_nothing(kept: Kept) -> None:
    unknown = conversation_id("codex", "nobody")
    kept.archive.commit([], tombstone=Tombstone(removed=[unknown], revived=[CONVERSATION]))
    kept.follow()
    assert kept.follower.watermark() == kept.archive.log.head()


def test_a_damaged_segment_is_counted_and_the_rest_is_indexed(kept: Kept) -> None:
    kept.archive.append([body_of(fragment([event(0)]))], seal=True)
    (name,) = kept.archive.segments.names()
    kept.archive.segments.path(name).write_bytes(b"no segment")
    kept.archive.append([body_of(fragment([event(1)]))], seal=True)
    done = kept.follow()
    assert (done.damaged, done.written) == (1, 1)
    assert texts(kept) == ["turn 1"]


@pytest.mark.parametrize("damaged", [b"no segment", None])
def test_a_segment_that_is_right_again_is_indexed_by_whoever_follows_next(
    kept: Kept, damaged: bytes | None
) -> None:
    kept.append(fragment([event(0), event(1)]), seal=True)
    kept.append(fragment([event(2)]), seal=True)
    (path, _) = map(kept.archive.segments.path, kept.archive.segments.names())
    whole = path.read_bytes()
    path.unlink()
    if damaged is not None:
        path.write_bytes(damaged)
    with kept.rebuilt() as fresh:
        for _ in range(2):
            assert fresh.follow().damaged == 1, "it is tried each time"
            assert len(texts(fresh)) < 3
        path.write_bytes(whole)
        assert fresh.follow().damaged == 0
        fresh.letters()
        kept.letters()
        assert contents(fresh) == contents(kept)
        assert fresh.follow().written == 0


def test_followers_of_one_index_agree_on_the_watermark(kept: Kept) -> None:
    kept.append(fragment([event(0)]))
    assert ArchiveFollower(kept.index, kept.archive).watermark() == kept.archive.log.head()
    assert ArchiveFollower(kept.index, kept.archive).catch_up().written == 0


def test_a_strange_timestamp_is_no_trouble(kept: Kept) -> None:
    strange = "2026-03-01T\0 7\0 not timeZ"
    kept.append(fragment([event(0, timestamp=strange)]))
    kept.append(fragment([event(1, timestamp=strange), event(2)]))
    assert texts(kept) == ["turn 0", "turn 1", "turn 2"]
    kept.letters()
    with kept.rebuilt() as fresh:
        assert contents(kept) == contents(fresh)


def test_an_archive_can_put_nothing_in_the_place_of_memory(kept: Kept) -> None:
    identity = conversation_id("memory", "r1")
    kept.append(fragment([event(0)], source="memory", source_id="r1", conversation_id=identity))
    kept.append(fragment([event(0)]))
    assert kept.index.connection.execute("SELECT source FROM conversations").fetchall() == [("codex",)]
