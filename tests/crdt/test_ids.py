"""Derived ids: from what they name and nothing else."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from crdt.ids import content_sha256, conversation_id, event_id, joined_sha256, record_id

NAMES = st.text(st.characters(exclude_characters="\0"), max_size=12)


def test_ids_are_the_hash_of_their_parts_joined_by_nul() -> None:
    assert conversation_id("codex", "s") == hashlib.sha256(b"codex\0s").hexdigest()
    assert event_id("c", "e") == hashlib.sha256(b"c\0e").hexdigest()
    assert record_id("c", "e") == hashlib.sha256(b"c\0e").hexdigest()


@given(st.lists(NAMES, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_different_parts_have_different_ids(one: list[str], other: list[str]) -> None:
    assert (joined_sha256(*one) == joined_sha256(*other)) == (one == other)


def test_lone_surrogates_have_an_id() -> None:
    assert joined_sha256("\ud800") != joined_sha256("\ud801")


def test_what_a_record_says_is_role_text_and_time_and_no_time_is_the_empty_one() -> None:
    said = content_sha256("user", "text", "2026-01-01T00:00:00.000Z")
    assert said == hashlib.sha256(b"user\0text\x002026-01-01T00:00:00.000Z").hexdigest()
    assert content_sha256("user", "text", None) == content_sha256("user", "text", "")
    assert content_sha256("assistant", "text", None) != content_sha256("user", "text", None)
