"""A conversation in order: the way without the union's bookkeeping gives what the union gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.union import NOWHERE, Stamped, union
from retrieval.whole import Stream, Whole, prompt_of, whole_of

CONVERSATION = conversation_id("codex", "s")
TIMES = (
    None,
    "",
    "soon",
    "2026-03-01T08:00:00.000Z",
    "2026-03-01T08:00:00+00:00",
    "2026-03-02T08:00:00.000Z",
)

EVENTS = st.builds(
    Event,
    id=st.sampled_from((None, *(event_id(CONVERSATION, str(number)) for number in range(6)))),
    kind=st.sampled_from((Kind.MESSAGE, Kind.TOOL_CALL)),
    role=st.sampled_from((Role.USER, Role.ASSISTANT)),
    text=st.sampled_from(("", "  \n ", "the crane\nis red", "ok")),
    seq=st.integers(0, 3),
    timestamp=st.sampled_from(TIMES),
)


def fragment(events: list[Event], **more: object) -> Fragment:
    """Make a fragment."""
    values = {"relative_path": "one.jsonl", **more}
    return Fragment(
        conversation_id=CONVERSATION,
        source="codex",
        source_id="s",
        origin=Origin.CAPTURE,
        redactor_version=1,
        events=events,
        **values,  # type: ignore[arg-type]
    )


def stamped(given: Fragment, hlc: int = 1) -> Stamped:
    """Give a fragment a hash and a clock."""
    return Stamped(fragment=given, sha256=f"{hlc:064x}", hlc=hlc)


def event(place: int, text: str = "the crane", **more: object) -> Event:
    """Make a user's message."""
    values = {"timestamp": "2026-03-01T08:00:00.000Z", "role": Role.USER, **more}
    return Event(
        id=event_id(CONVERSATION, f"m{place}"),
        kind=Kind.MESSAGE,
        text=text,
        seq=place,
        **values,  # type: ignore[arg-type]
    )


def of_the_union(given: list[Stamped]) -> tuple[object, ...]:
    """Tell what the union makes of fragments, as far as the index needs it."""
    merged = union(given)
    one = merged.conversation
    events = [(item.event, item.by.sha256) for item in merged.served]
    return (one.source, one.title, one.workspace, one.parent_id, one.automation, events, merged.last)


def facts(whole: Whole) -> tuple[object, ...]:
    """Tell the same of a whole."""
    return (
        whole.source,
        whole.title,
        whole.workspace,
        whole.parent_id,
        whole.automation,
        whole.events,
        whole.last,
    )


@given(
    events=st.lists(EVENTS, max_size=6),
    title=st.sampled_from((None, "", "A title")),
    workspace=st.sampled_from((None, "", "/srv/mill")),
    parent_id=st.sampled_from((None, "", "p")),
)
def test_one_fragment_is_what_the_union_makes_of_it(
    events: list[Event], title: str | None, workspace: str | None, parent_id: str | None
) -> None:
    one = [stamped(fragment(events, title=title, workspace=workspace, parent_id=parent_id))]
    assert facts(whole_of(one)) == of_the_union(one)


@given(events=st.lists(EVENTS, max_size=6), cut=st.integers(0, 6))
def test_several_fragments_are_what_the_union_makes_of_them(events: list[Event], cut: int) -> None:
    several = [
        stamped(fragment(events[:cut]), 1),
        stamped(fragment(events[cut:], relative_path="two.jsonl", automation=True), 2),
    ]
    assert facts(whole_of(several)) == of_the_union(several)


def test_of_no_fragments_there_is_nothing() -> None:
    whole = whole_of([])
    assert (whole.events, whole.title, whole.last, whole.streams) == ([], "", NOWHERE, {})


def test_the_end_of_each_file_is_told() -> None:
    later = "2026-03-01T09:00:00.000Z"
    several = [
        stamped(fragment([event(0), event(5, timestamp=None)]), 1),
        stamped(fragment([event(7, timestamp=later)], relative_path="two.jsonl"), 2),
        stamped(fragment([event(9, timestamp="soon")], relative_path="undated.jsonl"), 3),
    ]
    assert whole_of(several).streams == {
        "one.jsonl": Stream(last_seq=5, carried="2026-03-01T08:00:00.000Z"),
        "two.jsonl": Stream(last_seq=7, carried=later),
        "undated.jsonl": Stream(last_seq=9, carried=""),
    }
    assert whole_of(several[:1]).streams == {
        "one.jsonl": Stream(last_seq=5, carried="2026-03-01T08:00:00.000Z")
    }


def test_a_file_whose_events_another_serves_is_not_among_them() -> None:
    several = [
        stamped(fragment([event(0)]), 1),
        stamped(fragment([event(0, "corrected")], relative_path="two.jsonl"), 2),
    ]
    assert set(whole_of(several).streams) == {"two.jsonl"}


def test_the_first_prompt_makes_a_title() -> None:
    said = [event(0, "  "), event(1, "an answer", role=Role.ASSISTANT), event(2, "where is it\nthe crane")]
    assert prompt_of(said) == "where is it"
    assert prompt_of(said[:2]) is None
