"""Conflicts: sources that say different things under one id are shown side by side."""

from __future__ import annotations

from pathlib import Path

import msgspec

from archivist.fragments import seal
from crdt.archive import decode_fragment
from crdt.ids import conversation_id
from node.services.conflicts import conflicts_of
from tests.retrieval.archive_kit import SOURCE, Indexed, body


def from_elsewhere(text: str) -> bytes:
    """Make another machine's copy of the conversation, which says `text` in its first message."""
    fragment = decode_fragment(body("pier", ["the crane is red"]).data)
    other = msgspec.structs.replace(
        fragment,
        hosts=("other",),
        relative_path="copy/pier.jsonl",
        events=[msgspec.structs.replace(fragment.events[0], text=text)],
    )
    return seal(other).body.data


def found(indexed: Indexed) -> list[dict[str, object]]:
    with indexed.opened() as local, local.reader() as reader:
        return conflicts_of(local, reader, conversation_id(SOURCE, "pier"))


def test_both_versions_are_shown_the_served_one_first(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the crane is red"]))
    other = decode_fragment(from_elsewhere("the crane is blue"))
    indexed.tell(seal(other).body)
    (conflict,) = found(indexed)
    assert [version["text"] for version in conflict["versions"]] == ["the crane is blue", "the crane is red"]
    assert [version["relative_path"] for version in conflict["versions"]] == ["copy/pier.jsonl", "pier.jsonl"]


def test_sources_that_agree_have_no_conflict(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the crane is red"]))
    indexed.tell(seal(decode_fragment(from_elsewhere("the crane is red"))).body)
    assert found(indexed) == []


def test_a_conversation_of_one_fragment_has_no_conflict(tmp_path: Path) -> None:
    assert found(Indexed(tmp_path).tell(body("pier", ["the crane is red"]))) == []
