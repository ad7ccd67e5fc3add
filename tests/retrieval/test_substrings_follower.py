"""The substring lane follows the index: right at every lag, exact after deletions, leaving nothing behind."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Tombstone
from retrieval.index_reader import open_reader
from retrieval.models import Deadline, Filter
from retrieval.scope import Aliases
from retrieval.substrings import SubstringFollower, folded
from tests.retrieval.follow_kit import Kept, contents

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
WORDS = ("Straße", "STRASSE", "ﬁnal", "final", "İstanbul", "crane", "Crane", "水車小屋", "naïve", "Σίσυφος")
PATTERNS = ("stra", "ße", "sse", "fin", "stan", "CRANE", "水車", "車小屋", "ïve", "συφ")


def said(name: str, number: int, text: str) -> Fragment:
    """Make a fragment of one message."""
    conversation = conversation_id("codex", name)
    event = Event(
        id=event_id(conversation, str(number)), kind=Kind.MESSAGE, role=Role.USER, text=text, seq=number,
        timestamp=f"2026-03-01T00:00:{number:02d}.000Z",
    )  # fmt: skip
    return Fragment(
        conversation_id=conversation, source="codex", source_id=name, origin=Origin.CAPTURE,
        relative_path=f"{name}.jsonl", redactor_version=1, events=[event],
    )  # fmt: skip


def found(kept: Kept, pattern: str) -> set[str]:
    """Search the lane, all that it finds."""
    reader = open_reader(kept.root / "index.db", kept.root / "substrings.db", Aliases())
    with closing(reader):
        answer = reader.substrings(pattern, Filter(), 1_000, Deadline())
        return {hit.record_id for hit in reader.hits(answer.candidates, "substrings")}


def bury(kept: Kept, name: str) -> None:
    """Take a conversation out of the index."""
    kept.archive.commit([], tombstone=Tombstone(removed=[conversation_id("codex", name)]))
    kept.follow()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an empty archive."""
    with closing(Kept(tmp_path)) as made:
        yield made


ACTS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from("ab"), st.sampled_from(WORDS)),
    st.tuples(st.just("bury"), st.sampled_from("ab"), st.just("")),
    st.tuples(st.just("letters"), st.just(""), st.just("")),
)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@example(acts=[("say", "a", "crane"), ("bury", "a", ""), ("say", "b", "crane"), ("letters", "", "")])
@example(acts=[("say", "a", "crane"), ("letters", "", ""), ("bury", "a", ""), ("letters", "", "")])
@given(acts=st.lists(ACTS, max_size=12))
def test_an_answer_is_the_same_at_every_lag(acts: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder, closing(Kept(Path(folder))) as kept:
        for number, (act, name, text) in enumerate(acts):
            if act == "say":
                kept.append(said(name, number, f"we saw {text} there"))
            elif act == "bury":
                bury(kept, name)
            else:
                kept.letters()
        before = {pattern: found(kept, pattern) for pattern in PATTERNS}
        kept.letters()
        assert {pattern: found(kept, pattern) for pattern in PATTERNS} == before
        with kept.rebuilt() as fresh:
            assert contents(kept, ("crane",))["substrings"] == contents(fresh, ("crane",))["substrings"]


def test_following_again_takes_in_nothing(kept: Kept) -> None:
    kept.append(said("a", 0, "the crane"))
    assert kept.letters() == 1
    assert kept.letters() == 0


def test_texts_of_deleted_records_go_once_the_lane_forgot_them(kept: Kept) -> None:
    kept.append(said("a", 0, "the crane"))
    kept.append(said("b", 0, "the mill"))
    lane = SubstringFollower(kept.root / "substrings.db", kept.root / "index.db", kept.index.forget_retired)
    lane.catch_up()
    bury(kept, "a")
    bury(kept, "b")
    texts = "SELECT text FROM retired ORDER BY id"
    assert kept.index.connection.execute(texts).fetchall() == [("the crane",), ("the mill",)]
    lane.catch_up()
    assert kept.index.connection.execute(texts).fetchall() == [("",)], "the newest number is kept"
    kept.append(said("c", 0, "the weir"))
    lane.catch_up()
    bury(kept, "c")
    lane.catch_up()
    with kept.rebuilt() as fresh:
        assert contents(kept)["substrings"] == contents(fresh)["substrings"]


def test_texts_of_deleted_records_stay_until_the_lane_forgot_them(kept: Kept) -> None:
    kept.append(said("a", 0, "the crane"))
    kept.letters()
    bury(kept, "a")
    kept.index.forget_retired(0)
    assert kept.index.connection.execute("SELECT text FROM retired").fetchall() == [("the crane",)]


def test_a_lane_that_was_lost_is_made_anew_beside_emptied_rows(kept: Kept) -> None:
    kept.append(said("a", 0, "the crane"))
    kept.append(said("b", 0, "the mill"))
    path = kept.root / "substrings.db"
    lane = SubstringFollower(path, kept.root / "index.db", kept.index.forget_retired)
    lane.catch_up()
    bury(kept, "a")
    lane.catch_up()
    path.unlink()
    assert lane.catch_up() == 1
    with kept.rebuilt() as fresh:
        assert contents(kept)["substrings"] == contents(fresh)["substrings"]


def test_a_lane_of_another_index_is_made_anew(kept: Kept) -> None:
    kept.append(said("a", 0, "the crane"))
    kept.letters()
    with closing(sqlite3.connect(kept.root / "index.db")) as other, other:
        other.execute("UPDATE meta SET value = 'another' WHERE key = 'generation'")
    assert kept.letters() == 1


def test_a_batch_that_fails_is_taken_in_by_the_next_run(kept: Kept) -> None:
    for number in range(3):
        kept.append(said("a", number, f"crane {number}"))

    def fail(done: int, total: int) -> None:
        raise RuntimeError(f"{done} of {total}")

    lane = SubstringFollower(kept.root / "substrings.db", kept.root / "index.db")
    with pytest.raises(RuntimeError, match="3 of 3"):
        lane.catch_up(fail)
    assert lane.catch_up() == 0
    assert len(found(kept, "crane")) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ABC", "abc"), ("Straße", "straße"), ("GROẞ", "groß"), ("ΣΑΣ", "σασ"), ("ﬁN", "ﬁn"), ("İ", "İ")],  # noqa: RUF001
)
def test_case_is_taken_out_one_character_for_each(text: str, expected: str) -> None:
    assert folded(text) == expected
    assert len(folded(text)) == len(text)
