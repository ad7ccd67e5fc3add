"""Lists, histories and conflicts: complete, in pages, and without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from crdt.errors import BadInput
from crdt.operations import Operation
from node.services import records
from node.services.catalog import Document
from node.services.records import Write
from tests.node.filled import tree
from tests.node.services.memory_kit import Kept, keeping


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "state") as found:
        yield found


def test_lists_are_narrowed_by_all_that_is_asked(kept: Kept) -> None:
    wanted = kept.add("a", type="doc", project="P", tags=["t"], agent="bot")
    kept.add("b", project="p", tags=["t"], agent="bot")
    kept.add("c", type="doc", tags=["t"], agent="bot")
    kept.add("d", type="doc", project="p", agent="bot")
    kept.add("e", type="doc", project="p", tags=["t"])
    kept.call("decision.add", decision="f", project="p", agent="bot")
    assert kept.ids(type="doc", project=" P", tag="t", agent="bot") == [wanted]
    assert len(kept.ids()) == 5


def test_pages_show_everything_once_newest_first(kept: Kept) -> None:
    added = [kept.add(str(number)) for number in range(7)]
    seen: list[str] = []
    cursor: object = None
    while True:
        page = kept.call("memory.list", limit=3, cursor=cursor)
        seen += [str(item["id"]) for item in cast("list[Document]", page["items"])]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == added[::-1]


@pytest.mark.parametrize("fields", [{"limit": 0}, {"limit": 501}, {"cursor": "x"}])
def test_a_page_that_can_t_be_is_refused(kept: Kept, fields: dict[str, object]) -> None:
    kept.add("a")
    for name in ("memory.list", "memory.conflicts", "decision.list"):
        with pytest.raises(BadInput):
            kept.call(name, **fields)


def test_a_history_says_who_did_what_when_and_from_what(kept: Kept) -> None:
    identity = kept.add("one", tags=["a"])
    kept.call("memory.tag", id=identity, add=["b"], remove=["a"], agent="bot")
    kept.call("memory.edit", id=identity, fields={"headline": "One"})
    kept.call("memory.delete", ids=[identity])
    document = kept.call("memory.history", id=identity)
    first, second, third, fourth = cast("list[Document]", document["items"])
    assert [version["version"] for version in (first, second, third, fourth)] == [1, 2, 3, 4]
    assert (first["content"], first["tags_added"], first["base"]) == ("one", ["a"], [])
    assert (second["tags_added"], second["tags_removed"], second["agent"]) == (["b"], ["a"], "bot")
    assert second["base"] == [first["hash"]]
    assert (third["set"], "content" in third) == ({"headline": "One"}, False)
    assert fourth["deleted"] is True
    assert (document["heads"], document["deleted"]) == ([fourth["hash"]], True)


def test_conflicts_of_one_entry_or_of_all_are_shown_with_both_texts(kept: Kept) -> None:
    calm, torn = kept.add("calm"), kept.add("torn")
    kept.edit_at_once(torn, "left", "right")
    (listed,) = kept.items("memory.conflicts")
    assert listed["id"] == torn
    versions = cast("list[Document]", listed["versions"])
    assert {str(version["content"]) for version in versions} == {"left", "right"}
    assert versions[0]["content"] == kept.get(torn)["content"], "what is served comes first"
    assert all(version["agent"] == "local" and version["at"] for version in versions)
    assert kept.items("memory.conflicts", id=torn) == [listed]
    (alone,) = kept.items("memory.conflicts", id=calm)
    assert [version["content"] for version in cast("list[Document]", alone["versions"])] == ["calm"]
    assert kept.ids(conflicts=True) == [torn]


def test_what_a_deletion_had_not_seen_is_shown_as_a_conflict(kept: Kept) -> None:
    identity = kept.add("one")
    heads = kept.heads(identity)
    kept.call("memory.edit", id=identity, text="two", base=heads)
    with kept.local.projection() as reader:
        view = reader.get(identity)
    blind = Operation(id=identity, type="memory", deleted=True, base=[bytes.fromhex(head) for head in heads])
    records.commit(kept.local, [Write(space=view.space, operation=blind)])
    (listed,) = kept.items("memory.conflicts")
    assert listed["deleted"] is True
    assert [version["content"] for version in cast("list[Document]", listed["versions"])] == ["two"]
    assert kept.call("memory.restore", id=identity)["content"] == "two"


def test_reading_leaves_no_trace(kept: Kept, tmp_path: Path) -> None:
    identity = kept.add("one")
    kept.edit_at_once(identity, "left", "right")
    with keeping(tmp_path / "state", writable=False) as beside:
        before = tree(tmp_path / "state")
        beside.get(identity)
        beside.ids()
        beside.items("memory.history", id=identity)
        beside.items("memory.conflicts")
        assert tree(tmp_path / "state") == before
