"""Entries are kept, changed, deleted, brought back; two changes at once are both kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crdt.errors import BadInput, Changed, NotFound
from crdt.operations import TEXT_BYTES_MAX, Operation
from node.services import records
from node.services.records import Write
from tests.node.services.memory_kit import Kept, keeping


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "state") as found:
        yield found


def test_what_is_kept_comes_back_as_it_was_said(kept: Kept) -> None:
    parent = kept.add("the harbour")
    identity = kept.add(
        "the pier", type="doc", project=" Tidewatch ", tags=[" sea ", "sea"], confidence=0.5,
        expires_at="2999-01-01T00:00:00Z", parents=[parent[:8]], headline="Pier", agent="bot",
    )  # fmt: skip
    found = kept.get(identity[:8])
    expected = {
        "id": identity, "content": "the pier", "type": "doc", "project": "tidewatch", "tags": ["sea"],
        "confidence": 0.5, "expires_at": "2999-01-01T00:00:00.000Z", "parents": [parent], "headline": "Pier",
        "agent": "bot", "space": "home", "scope": "project", "version": 1, "conflicts": [], "stale": False,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_an_edit_is_a_new_version_and_the_old_one_stays(kept: Kept) -> None:
    identity = kept.add("the pier")
    changed = kept.call("memory.edit", id=identity, text="the quay", fields={"headline": "Quay"}, agent="bot")
    assert (changed["version"], changed["content"], changed["headline"]) == (2, "the quay", "Quay")
    assert changed["agent"] == "local", "who made it stays"
    versions = kept.items("memory.history", id=identity)
    assert [version.get("content") for version in versions] == ["the pier", "the quay"]
    assert [version["agent"] for version in versions] == ["local", "bot"]


def test_a_change_that_changes_nothing_writes_nothing(kept: Kept) -> None:
    identity = kept.add("the pier", tags=["sea"])
    head = kept.local.feeds.head()
    for call in (
        {"name": "memory.edit", "text": "the pier"},
        {"name": "memory.edit", "fields": {"headline": None}},
        {"name": "memory.tag", "add": ["sea"], "remove": ["air"]},
        {"name": "memory.restore"},
        {"name": "memory.revert", "version": 1},
    ):
        assert kept.call(**{"id": identity, **call})["version"] == 1  # type: ignore[arg-type]
    assert kept.local.feeds.head() == head


def test_two_edits_of_different_lines_are_merged(kept: Kept) -> None:
    identity = kept.add("one\ntwo\nthree\nfour\nfive")
    kept.edit_at_once(identity, "ONE\ntwo\nthree\nfour\nfive", "one\ntwo\nthree\nfour\nFIVE")
    found = kept.get(identity)
    assert (found["content"], found["conflicts"]) == ("ONE\ntwo\nthree\nfour\nFIVE", [])


def test_two_edits_of_the_same_line_are_both_kept_until_somebody_decides(kept: Kept) -> None:
    identity = kept.add("start")
    kept.edit_at_once(identity, "left", "right")
    found = kept.get(identity)
    (conflict,) = found["conflicts"]  # type: ignore[misc]
    assert {str(found["content"]), conflict["content"]} == {"left", "right"}
    (listed,) = kept.items("memory.conflicts")
    texts = [version["content"] for version in listed["versions"]]  # type: ignore[union-attr]
    assert texts == [found["content"], conflict["content"]]
    decided = kept.call("memory.edit", id=identity, text="both")
    assert (decided["content"], decided["conflicts"], decided["version"]) == ("both", [], 4)
    assert kept.items("memory.conflicts") == []


def test_a_conflict_is_decided_by_saying_the_served_text_again(kept: Kept) -> None:
    identity = kept.add("start")
    kept.edit_at_once(identity, "left", "right")
    served = kept.get(identity)["content"]
    assert kept.call("memory.edit", id=identity, text=served)["conflicts"] == []


def test_tags_come_and_go(kept: Kept) -> None:
    identity = kept.add("the pier", tags=["a", "b"])
    assert kept.call("memory.tag", id=identity, add=["c"], remove=["a"])["tags"] == ["b", "c"]
    assert kept.ids(tag="c") == [identity]
    assert kept.ids(tag="a") == []


def test_what_is_deleted_can_be_restored_whole(kept: Kept) -> None:
    one, other = kept.add("one", tags=["t"]), kept.add("other")
    assert kept.items("memory.delete", ids=[one[:8], other]) == [
        {"id": one, "deleted": True},
        {"id": other, "deleted": True},
    ]
    assert kept.ids() == []
    assert sorted(kept.ids(deleted=True)) == sorted([one, other])
    assert "deleted_at" in kept.get(one)
    restored = kept.call("memory.restore", id=one)
    assert (restored["content"], restored["tags"], "deleted_at" in restored) == ("one", ["t"], False)
    assert kept.ids() == [one]


def test_entries_are_deleted_all_or_none(kept: Kept) -> None:
    one = kept.add("one")
    with pytest.raises(NotFound):
        kept.call("memory.delete", ids=[one, "ffffffff"])
    assert kept.ids() == [one]
    with pytest.raises(BadInput, match="no entry"):
        kept.call("memory.delete", ids=[])


def test_a_deleted_entry_is_not_changed(kept: Kept) -> None:
    identity = kept.add("one")
    kept.call("memory.delete", ids=[identity])
    with pytest.raises(BadInput, match="is deleted") as refused:
        kept.call("memory.edit", id=identity, text="two")
    assert identity in refused.value.hint


def test_an_edit_that_a_deletion_had_not_seen_survives_on_the_tombstone(kept: Kept) -> None:
    identity = kept.add("one")
    heads = kept.heads(identity)
    kept.call("memory.edit", id=identity, text="two")
    late = kept.call("memory.edit", id=identity, text="late", base=heads)
    assert late["conflicts"]
    kept.call("memory.delete", ids=[identity])
    assert kept.call("memory.restore", id=identity)["conflicts"] == late["conflicts"]


def test_a_revert_is_a_new_version_with_everything_of_the_old(kept: Kept) -> None:
    identity = kept.add("one", tags=["t"], headline="One")
    kept.call("memory.edit", id=identity, text="two", fields={"headline": None, "project": "p"})
    kept.call("memory.tag", id=identity, remove=["t"])
    kept.call("memory.delete", ids=[identity])
    found = kept.call("memory.revert", id=identity, version=1)
    assert (found["content"], found["headline"], found["project"]) == ("one", "One", None)
    assert (found["tags"], found["version"], "deleted_at" in found) == (["t"], 5, False)
    with pytest.raises(NotFound, match="no version 9"):
        kept.call("memory.revert", id=identity, version=9)
    with pytest.raises(Changed):
        kept.call("memory.revert", id=identity, version=2, if_version=2)


def test_what_an_agent_keeps_for_itself_never_leaves_the_node(kept: Kept) -> None:
    assert kept.get(kept.add("secret plan", scope="agent"))["space"] == "private"
    assert kept.get(kept.add("private", private=True))["space"] == "private"
    with pytest.raises(BadInput, match="private"):
        kept.add("x", scope="agent", space="home")


def test_a_directive_is_sure_or_none(kept: Kept) -> None:
    found = kept.get(kept.add("always test", type="directive"))
    assert (found["confidence"], found["effective_confidence"], found["trust"]) == (1.0, 1.0, "accepted")
    with pytest.raises(BadInput, match="directive"):
        kept.add("maybe test", type="directive", confidence=0.5)
    identity = kept.add("note", confidence=0.5)
    assert kept.call("memory.edit", id=identity, fields={"type": "directive"})["confidence"] == 1.0
    with pytest.raises(BadInput, match="directive"):
        kept.call("memory.edit", id=identity, fields={"confidence": 0.5})


def test_only_directives_are_accepted(kept: Kept) -> None:
    with pytest.raises(BadInput, match="only directives"):
        kept.call("memory.accept", id=kept.add("note"))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"text": " \n"}, "no text"),
        ({"text": "x", "type": "song"}, "type"),
        ({"text": "x", "scope": "world"}, "scope"),
        ({"text": "x", "confidence": 1.5}, "confidence"),
        ({"text": "x", "expires_at": "soon"}, "soon"),
        ({"text": "x", "expires_at": "2020-01-01T00:00:00Z"}, "stale from the beginning"),
        ({"text": "x", "tags": ["a\nb"]}, "tag"),
        ({"text": "x", "tags": [" "]}, "tag"),
        ({"text": "x", "agent": "a@b"}, "name of an agent"),
        ({"text": "x", "headline": "h" * 1001}, "headline"),
        ({"text": "x", "private": True, "space": "home"}, "private"),
    ],
)
def test_what_can_t_be_used_is_named_and_nothing_is_written(
    kept: Kept, fields: dict[str, object], named: str
) -> None:
    kept.local.feeds.home()
    head = kept.local.feeds.head()
    with pytest.raises(BadInput, match=named):
        kept.call("memory.add", **fields)
    assert kept.local.feeds.head() == head


def test_a_parent_that_is_not_there_is_told(kept: Kept) -> None:
    with pytest.raises(NotFound):
        kept.add("x", parents=["ffffffff"])


def test_an_entry_holds_256_kib_and_no_more(kept: Kept) -> None:
    identity = kept.add("€" * (TEXT_BYTES_MAX // 3))
    assert len(str(kept.get(identity)["content"])) == TEXT_BYTES_MAX // 3
    with pytest.raises(BadInput, match="at most 256 KiB, this text has 257"):
        kept.add("x" * (TEXT_BYTES_MAX + 1))


def test_an_edit_sets_no_field_that_says_where_an_entry_lives(kept: Kept) -> None:
    with pytest.raises(BadInput, match="scope"):
        kept.call("memory.edit", id=kept.add("x"), fields={"scope": "agent"})
    with pytest.raises(BadInput, match="base"):
        kept.call("memory.edit", id=kept.add("x"), text="y", base=["zz"])


def test_the_beginning_of_an_id_is_enough_unless_several_begin_so(kept: Kept) -> None:
    identity = kept.add("the pier")
    assert kept.get(identity[:4].upper())["id"] == identity
    with pytest.raises(NotFound) as refused:
        kept.get(identity[:3])
    assert "at least 4" in refused.value.hint
    twins = [
        Operation(id=f"twin-{letter}", type="memory", text="x", set={"kind": "memory"}) for letter in "ab"
    ]
    home = kept.local.feeds.home()
    records.commit(kept.local, [Write(space=home, operation=twin, is_new=True) for twin in twins])
    with pytest.raises(BadInput, match="twin-a"):
        kept.get("twin")


def test_an_entry_is_found_by_a_search_at_once(kept: Kept) -> None:
    identity = kept.add("the lighthouse keeper")
    found = kept.items_of_search("lighthouse")
    assert [hit["text"] for hit in found] == ["the lighthouse keeper"]
    kept.call("memory.edit", id=identity, text="the harbour master")
    assert kept.items_of_search("lighthouse") == []
    kept.call("memory.delete", ids=[identity])
    assert kept.items_of_search("harbour") == []


def test_a_document_that_several_edit_at_once_has_no_conflicts(kept: Kept) -> None:
    identity = kept.add("one line", type="doc", collaborative=True)
    kept.edit_at_once(identity, "one long line", "one line more")
    found = kept.get(identity)
    assert (found["content"], found["conflicts"], found["version"]) == ("one long line more", [], 3)
    assert kept.call("memory.edit", id=identity, text="short")["content"] == "short"
    assert kept.call("memory.revert", id=identity, version=1)["content"] == "one line"
    kept.call("memory.delete", ids=[identity])
    assert kept.call("memory.restore", id=identity)["content"] == "one line"
    with pytest.raises(BadInput, match="only a doc"):
        kept.add("x", collaborative=True)


def test_an_edit_of_a_document_carries_no_secret(kept: Kept) -> None:
    secret = "ghp_" + "a1B2" * 9
    identity = kept.add(f"the token {secret}", type="doc", collaborative=True)
    kept.call("memory.edit", id=identity, text=f"again {secret}")
    assert secret not in str(kept.items("memory.history", id=identity))
    bodies = [entry.entry.body or b"" for entry in kept.local.feeds.entries()]
    assert not any(secret.encode() in body for body in bodies)
