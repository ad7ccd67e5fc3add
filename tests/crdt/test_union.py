"""The union of fragments: its laws, which version is served, and the order of events."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt.canonical import encode_canonical
from crdt.events import Conversation, Event, Fragment
from crdt.union import NOWHERE, Stamped, Union, event_key, instant_key, says_the_same, title_of, union
from tests.crdt.samples import event, fragment, stamped

TIMES = st.sampled_from(
    [None, "", "no time", "2026-01-05T09:00:00.000Z", "2026-01-05T09:00:00.001Z", "2026-01-05T10:00:00+01:00",
     "2026-01-05", "2026-03-01T00:00:00Z"]
)  # fmt: skip
PATHS = ("a.jsonl", "b.jsonl")
WORKSPACES = (None, "[HOME]/one", "[HOME]/two")


@dataclass(frozen=True)
class Capture:
    """What one run of capture took from one file: one clock, cut into fragments in any way."""

    hlc: int
    path: str
    redactor: int
    title: str | None
    workspace: str | None
    events: tuple[Event, ...]

    def fragment(self, events: Sequence[Event]) -> Stamped:
        """Make a fragment of some of the events."""
        redactions = {str(e.id): len(e.text) for e in events if e.text.startswith("1")}
        made = fragment(
            *events, path=self.path, redactor=self.redactor, title=self.title, workspace=self.workspace,
            redactions=redactions, hosts=(f"host of {self.path}",),
        )  # fmt: skip
        return stamped(made, self.hlc)

    def whole(self) -> Stamped:
        """Make one fragment of everything."""
        return self.fragment(self.events)

    def cut(self, choose: random.Random) -> list[Stamped]:
        """Cut into fragments at places by chance, and deal the events of some pieces out by chance."""
        piles: list[list[Event]] = [[] for _ in range(choose.randint(1, 4))]
        for item in self.events:
            choose.choice(piles).append(item)
        return [self.fragment(pile) for pile in piles if pile]


@st.composite
def captures(draw: st.DrawFn) -> list[Capture]:
    """Draw captures of two files that share some events and differ in what some say."""
    made = []
    for number in range(draw(st.integers(1, 4))):
        names = draw(st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True))
        events = tuple(
            event(str(name), seq, draw(st.sampled_from("01")) + f" of {name}", timestamp=draw(TIMES))
            for seq, name in enumerate(sorted(names))
        )
        made.append(
            Capture(
                hlc=10 + number,
                path=draw(st.sampled_from(PATHS)),
                redactor=draw(st.integers(1, 2)),
                title=draw(st.sampled_from([None, f"title {number}"])),
                workspace=draw(st.sampled_from(WORKSPACES)),
                events=events,
            )
        )
    return made


def plain(found: Union) -> Conversation:
    """Give the conversation without the hash of its fragments, which says how it was cut."""
    conversation = found.conversation
    provenance = msgspec.structs.replace(conversation.provenance, content_sha256="")
    return msgspec.structs.replace(conversation, provenance=provenance)


@given(captures(), st.randoms(use_true_random=False))
def test_the_union_is_commutative(made: list[Capture], choose: random.Random) -> None:
    fragments = [item for capture in made for item in capture.cut(choose)]
    shuffled = choose.sample(fragments, len(fragments))
    assert union(shuffled) == union(fragments)
    assert encode_canonical(union(shuffled).conversation) == encode_canonical(union(fragments).conversation)


@given(captures(), st.randoms(use_true_random=False))
def test_the_union_is_idempotent(made: list[Capture], choose: random.Random) -> None:
    fragments = [capture.whole() for capture in made]
    again = [*fragments, *choose.choices(fragments, k=3)]
    assert union(again) == union(fragments)


@settings(max_examples=300)
@given(captures(), st.randoms(use_true_random=False))
def test_how_events_were_cut_into_fragments_does_not_show(made: list[Capture], choose: random.Random) -> None:
    whole = union([capture.whole() for capture in made])
    cut = union([item for capture in made for item in capture.cut(choose)])
    assert plain(cut) == plain(whole)
    assert cut.last == whole.last
    assert [conflict.event_id for conflict in cut.conflicts] == [
        conflict.event_id for conflict in whole.conflicts
    ]


@given(captures())
def test_every_event_is_there_once_and_nothing_else_is(made: list[Capture]) -> None:
    ids = [item.event.id for item in union([capture.whole() for capture in made]).served]
    assert len(set(ids)) == len(ids)
    assert set(ids) == {item.id for capture in made for item in capture.events}


@given(captures())
def test_what_is_served_is_of_the_newest_redactor_then_the_latest_then_the_highest_hash(
    made: list[Capture],
) -> None:
    fragments = [capture.whole() for capture in made]
    for item in union(fragments).served:
        versions = [
            (s.fragment.redactor_version, s.hlc, s.sha256, e)
            for s in fragments
            for e in s.fragment.events
            if e.id == item.event.id
        ]
        assert says_the_same(item.event, max(versions, key=lambda version: version[:3])[3])


def test_a_newer_redactor_outranks_a_later_capture() -> None:
    redacted = stamped(fragment(event("a", 0, "[REDACTED:token]"), redactor=2), 1)
    later = stamped(fragment(event("a", 0, "secret")), 9)
    assert union([redacted, later]).served[0].by is redacted


def test_of_versions_with_one_clock_the_highest_hash_is_served() -> None:
    both = sorted(
        (stamped(fragment(event("a", 0, text)), 5) for text in ("one", "two")), key=lambda s: s.sha256
    )
    assert union(both).served[0].by == both[1]


def test_a_copy_that_says_the_same_leaves_the_event_with_its_first_source() -> None:
    first = stamped(fragment(event("a", 0), path="a.jsonl"), 1)
    copy = stamped(fragment(event("a", 7), path="b.jsonl"), 2)
    assert union([copy, first]).served[0].by == first
    assert union([copy, first]).conflicts == ()


def test_events_stand_by_time_then_place_then_id() -> None:
    early, late = "2026-01-05T09:00:00.000Z", "2026-01-05T10:00:00.000Z"
    one = fragment(event("late", 0, timestamp=late), event("undated", 1), event("early", 2, timestamp=early))
    other = fragment(event("between", 0, timestamp="2026-01-05T09:30:00.000Z"), path="b.jsonl")
    found = union([stamped(one, 1), stamped(other, 2)])
    assert [item.event.text for item in found.served] == [
        "text of early", "text of between", "text of late", "text of undated",
    ]  # fmt: skip
    assert found.last == (late, 1, str(event("undated", 1).id))


def test_an_event_before_the_first_time_of_its_file_has_that_time() -> None:
    one = fragment(event("undated", 0), event("dated", 1, timestamp="2026-01-05T09:00:00.000Z"))
    other = fragment(event("before", 0, timestamp="2026-01-05T08:00:00.000Z"), path="b.jsonl")
    texts = [item.event.text for item in union([stamped(one, 1), stamped(other, 2)]).served]
    assert texts == ["text of before", "text of undated", "text of dated"]


def test_without_times_the_place_decides_and_then_the_id() -> None:
    one = fragment(event("a", 0), event("b", 1))
    other = fragment(event("c", 0), event("d", 1), path="b.jsonl")
    served = union([stamped(one, 2), stamped(other, 1)]).served
    keys = [(item.event.seq, item.event.id) for item in served]
    assert keys == sorted(keys)


def test_one_place_in_a_file_that_was_written_anew_is_ordered_by_id_and_not_by_capture() -> None:
    names = ("a", "b", "c")
    made = [fragment(event(name, 3, timestamp=None)) for name in names]
    orders = set()
    for hlcs in ((1, 2, 3), (3, 2, 1), (2, 3, 1)):
        captured = [stamped(one, hlc) for one, hlc in zip(made, hlcs, strict=True)]
        orders.add(tuple(item.event.id for item in union(captured).served))
    assert orders == {tuple(sorted(str(event(name, 3).id) for name in names))}


def test_events_without_an_id_are_one_by_what_they_say() -> None:
    unnamed = msgspec.structs.replace(event("a", 0), id=None)
    other = msgspec.structs.replace(unnamed, text="other", seq=1)
    found = union([stamped(fragment(unnamed, other), 1), stamped(fragment(unnamed, path="b.jsonl"), 2)])
    assert [item.event for item in found.served] == [unnamed, other]
    assert event_key(unnamed) != event_key(other)
    assert event_key(unnamed).startswith("~")


def test_versions_of_different_sources_are_a_conflict_and_a_correction_in_one_source_is_none() -> None:
    first = stamped(fragment(event("a", 0, "one")), 1)
    corrected = stamped(fragment(event("a", 0, "two")), 2)
    elsewhere = stamped(fragment(event("a", 0, "three"), path="b.jsonl", hosts=("server",)), 3)
    assert union([first, corrected]).conflicts == ()
    (conflict,) = union([first, corrected, elsewhere]).conflicts
    assert conflict.event_id == event("a", 0).id
    assert conflict.fragment_sha256s == (elsewhere.sha256, *sorted([first.sha256, corrected.sha256]))


def test_the_merged_head_is_made_of_all_fragments() -> None:
    one = fragment(
        event("a", 0, timestamp="2026-01-05T09:00:00.000Z"), path="b.jsonl", hosts=("b", "a"),
        redactions={str(event("a", 0).id): 2},
    )  # fmt: skip
    other = fragment(
        event("b", 0, timestamp="2026-01-06T09:00:00.000Z"), path="a.jsonl", hosts=("c", "a"), redactor=3,
        declared_redactions=4, automation=True, parent_id="9" * 64,
    )  # fmt: skip
    found = union([stamped(one, 1), stamped(other, 2)]).conversation
    assert found.hosts == ("a", "b", "c")
    assert found.provenance.relative_path == "a.jsonl"
    assert found.provenance.redactions == 6
    assert found.provenance.redactor_version == 3
    assert (found.automation, found.parent_id) == (True, "9" * 64)
    assert (found.started_at, found.updated_at) == ("2026-01-05T09:00:00.000Z", "2026-01-06T09:00:00.000Z")


def test_the_content_hash_is_of_the_sorted_fragment_hashes() -> None:
    import hashlib

    made = [stamped(fragment(event(name, seq)), 1) for seq, name in enumerate("abc")]
    joined = "\n".join(sorted(item.sha256 for item in made)).encode()
    assert union(made).conversation.provenance.content_sha256 == hashlib.sha256(joined).hexdigest()


def test_the_latest_own_title_outranks_the_first_prompt_and_that_the_id_of_the_source() -> None:
    prompt = fragment(event("a", 0, "  first line\nsecond"))
    titled = [fragment(event("b", 1), title="old"), fragment(event("c", 2), title="new")]
    assert union([stamped(titled[1], 3), stamped(titled[0], 2)]).conversation.title == "new"
    assert union([stamped(prompt, 1)]).conversation.title == "first line"
    assert union([stamped(fragment(event("a", 0, " ")), 1)]).conversation.title == "session-1"


def test_the_workspace_is_that_of_whoever_spoke_first_and_not_of_a_record_without_a_time() -> None:
    opening = fragment(
        event("snapshot", 0), event("a", 1, timestamp="2026-01-05T09:00:00.000Z"), workspace="[HOME]/one"
    )
    later = fragment(event("b", 2, timestamp="2026-01-05T09:01:00.000Z"), workspace="[HOME]/two")
    for hlcs in ((1, 2), (2, 1)):
        both = [stamped(opening, hlcs[0]), stamped(later, hlcs[1])]
        assert union(both).conversation.workspace == "[HOME]/one"


def test_a_fragment_without_events_makes_an_empty_conversation() -> None:
    found = union([stamped(fragment(), 1)])
    assert (found.conversation.events, found.last, found.conversation.started_at) == ([], NOWHERE, None)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (None, None),
        ("", None),
        ("yesterday", None),
        ("2026-01-05T09:00:00.000Z", "2026-01-05T09:00:00.000Z"),
        ("2026-01-05T10:00:00+01:00", "2026-01-05T09:00:00.000Z"),
        ("2026-01-05T09:00:00.123456Z", "2026-01-05T09:00:00.123Z"),
        ("2026-01-05", "2026-01-05T00:00:00.000Z"),
        ("0099-01-05T00:00:00", "0099-01-05T00:00:00.000Z"),
        ("0001-01-01T00:00:00+05:00", None),
        ("9999-12-31T23:59:59-05:00", None),
    ],
)
def test_instants_sort_as_text(text: str | None, key: str | None) -> None:
    assert instant_key(text) == key


@given(st.text(max_size=30))
def test_any_text_in_the_place_of_an_instant_is_taken(text: str) -> None:
    key = instant_key(text)
    assert key is None or len(key) == 24


def test_titles_are_cut_to_120_characters() -> None:
    assert title_of("x" * 120) == "x" * 120
    assert title_of("x" * 121) == "x" * 117 + "..."


@given(st.integers(0, 3), st.integers(0, 5))
def test_two_machines_with_a_part_each_export_the_same_bytes(shared: int, more: int) -> None:
    def taken(names: Sequence[str], host: str, hlc: int) -> Stamped:
        moment = "2026-01-05T09:00:00.000Z"
        made = fragment(*(event(n, int(n), timestamp=moment) for n in names), hosts=(host,))
        return stamped(made, hlc)

    laptop = taken([str(n) for n in range(3)], "laptop", 5)
    server = taken([str(n) for n in range(3 - shared, 3 - shared + 5 + more)], "server", 6)
    there, here = union([laptop, server]), union([server, laptop])
    assert encode_canonical(there.conversation) == encode_canonical(here.conversation)
    assert len(there.served) == max(3, 3 - shared + 5 + more)


def test_a_served_event_keeps_the_fragment_that_brought_it() -> None:
    made = Capture(1, "a.jsonl", 1, None, None, (event("a", 0),))
    later = replace(made, hlc=2, events=(event("b", 1),))
    assert [item.by.hlc for item in union([later.whole(), made.whole()]).served] == [1, 2]


def test_a_fragment_is_not_changed_by_a_union() -> None:
    made: Fragment = fragment(event("b", 1), event("a", 0))
    before = encode_canonical(made)
    union([stamped(made, 1)])
    assert encode_canonical(made) == before


def test_a_copy_in_another_file_leaves_the_place_to_the_one_further_up() -> None:
    at = "2026-03-01T08:00:00.000Z"
    first = fragment(event("a", 3, timestamp=at), event("b", 4, timestamp=at))
    resumed = fragment(event("a", 5, timestamp=at), path="resumed.jsonl")
    orders = [
        [item.event.id for item in union([stamped(first, one), stamped(resumed, other)]).served]
        for one, other in ((1, 2), (2, 1))
    ]
    assert orders[0] == orders[1] == [event("a", 3).id, event("b", 4).id]
