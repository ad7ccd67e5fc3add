"""Ids of records that have none."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from archivist.providers.identity import RECENT_KEYS_MAX, Ordinals, unnamed_raw_id


def at(second: int) -> str:
    return f"2026-01-05T09:{second // 60:02d}:{second % 60:02d}.000Z"


def test_an_id_is_the_hash_of_type_time_and_ordinal() -> None:
    expected = hashlib.sha256(b"user\0" + at(0).encode() + b"\x000").hexdigest()
    assert unnamed_raw_id("user", at(0), 0) == expected
    assert unnamed_raw_id("user", None, 1) == hashlib.sha256(b"user\0\x001").hexdigest()


def test_equals_are_counted_apart_from_others() -> None:
    ordinals = Ordinals({})
    made = [
        ordinals.raw_id(kind, when) for kind, when in (("a", at(0)), ("b", at(0)), ("a", at(0)), ("a", None))
    ]
    assert made == [
        unnamed_raw_id("a", at(0), 0),
        unnamed_raw_id("b", at(0), 0),
        unnamed_raw_id("a", at(0), 1),
        unnamed_raw_id("a", None, 0),
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.one_of(st.none(), st.integers(0, 300).map(at))), max_size=400
    ),
    st.integers(0, 400),
)
def test_ids_are_unique_in_bounded_memory_and_do_not_depend_on_a_restart(
    records: list[tuple[str, str | None]], cut: int
) -> None:
    whole, first = Ordinals({}), Ordinals({})
    ids = [whole.raw_id(*record) for record in records]
    assert len(set(ids)) == len(ids)
    resumed = [first.raw_id(*record) for record in records[:cut]]
    second = Ordinals(first.state())
    resumed += [second.raw_id(*record) for record in records[cut:]]
    assert resumed == ids
    recent = second.state().get("recent", {})
    assert isinstance(recent, dict)
    assert len(recent) <= RECENT_KEYS_MAX
