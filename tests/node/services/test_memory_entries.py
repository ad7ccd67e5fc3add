"""Documents of entries: the agreed names, confidence as of now, who may be followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crdt.edges import SUPERSEDES, edge_id
from crdt.operations import Operation
from node.services import records
from node.services.memory_entries import Entries
from node.services.records import Write, index_record_id
from tests.node.filled import tree
from tests.node.services.memory_kit import Kept, keeping

FIELDS = {
    "id", "type", "agent", "node", "project", "space", "scope", "content", "confidence",
    "effective_confidence", "parents", "tags", "created_at", "updated_at", "author_updated_at", "version",
    "expires_at", "origin", "conflicts", "superseded_by", "headline", "source_path", "source_sha",
    "source_commit", "stale", "trust",
}  # fmt: skip
DAY_MS = 86_400_000


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "state") as found:
        yield found


def document(kept: Kept, identity: str, later_ms: int = 0) -> dict[str, object]:
    """Give the document as of some time after the entry's last change."""
    with kept.local.projection() as reader:
        view = reader.get(identity)
        return Entries(kept.local, reader, view.updated_ms + later_ms).document(view)


def test_an_entry_has_the_agreed_names_and_no_others(kept: Kept) -> None:
    identity = kept.add("the pier")
    assert set(document(kept, identity)) == FIELDS
    kept.call("memory.delete", ids=[identity])
    assert set(document(kept, identity)) == FIELDS | {"deleted_at"}


def test_what_was_just_written_reads_as_it_will_read(kept: Kept) -> None:
    written = kept.call("memory.add", text="the pier", tags=["a"], type="doc")
    for name, more in (
        ("memory.edit", {"text": "the quay"}),
        ("memory.tag", {"add": ["b"]}),
        ("memory.delete", {"ids": [written["id"]]}),
        ("memory.restore", {}),
        ("memory.revert", {"version": 1}),
    ):
        assert kept.get(str(written["id"])) == written
        given = more if "ids" in more else {"id": written["id"], **more}
        answer = kept.call(name, **given)
        written = answer if "version" in answer else kept.get(str(written["id"]))


def test_confidence_fades_with_time_and_reading_changes_nothing(kept: Kept, tmp_path: Path) -> None:
    identity = kept.add("the pier", confidence=0.8)
    doc = kept.add("the doc", type="doc", confidence=0.8)
    before = tree(tmp_path / "state")
    assert document(kept, identity)["effective_confidence"] == pytest.approx(0.8)
    assert document(kept, identity, 90 * DAY_MS)["effective_confidence"] == pytest.approx(0.4)
    assert document(kept, identity, 90 * DAY_MS)["confidence"] == 0.8
    assert document(kept, doc, 900 * DAY_MS)["effective_confidence"] == 0.8
    assert tree(tmp_path / "state") == before


def test_what_has_expired_is_stale_and_listed_no_more(kept: Kept) -> None:
    identity = kept.add("the pier", expires_at="2999-01-01T00:00:00Z")
    assert kept.get(identity)["stale"] is False
    kept.call("memory.edit", id=identity, fields={"expires_at": "2020-01-01T00:00:00Z"})
    assert kept.get(identity)["stale"] is True
    assert kept.ids() == []


def test_instants_are_utc_with_milliseconds(kept: Kept) -> None:
    found = kept.get(kept.add("the pier", expires_at="2999-01-01T02:00:00.5+02:00"))
    assert found["expires_at"] == "2999-01-01T00:00:00.500Z"
    assert str(found["created_at"]).endswith("Z")
    assert len(str(found["created_at"])) == len("2999-01-01T00:00:00.500Z")


def test_who_superseded_an_entry_is_named_as_searches_name_it(kept: Kept) -> None:
    old, new = kept.add("old"), kept.add("new")
    start, end = index_record_id("memory", new), index_record_id("memory", old)
    edge = Operation(
        id=edge_id(SUPERSEDES, start, end),
        type="edge",
        set={"from": start, "to": end, "relation": SUPERSEDES},
    )
    records.commit(kept.local, [Write(space=kept.local.feeds.home(), operation=edge, is_new=True)])
    assert kept.get(old)["superseded_by"] == start
    assert kept.get(new)["superseded_by"] is None


def test_a_directive_that_somebody_else_wrote_stands_only_with_its_accepted_text(
    kept: Kept, tmp_path: Path
) -> None:
    identity = kept.add("always test", type="directive")
    path = str(tmp_path / "memory.jsonl")
    kept.call("memory.export", path=path)
    with keeping(tmp_path / "other") as other:
        other.call("memory.import", path=path)
        assert other.get(identity)["trust"] == "unaccepted"
        assert other.call("memory.accept", id=identity)["trust"] == "accepted"
        assert other.items("memory.list")[0]["trust"] == "accepted"
        kept.call("memory.edit", id=identity, text="never test")
        kept.call("memory.export", path=path)
        other.call("memory.import", path=path)
        changed = other.get(identity)
        assert (changed["content"], changed["trust"]) == ("never test", "unaccepted")
        own = other.call("memory.edit", id=identity, text="test sometimes")
        assert own["trust"] == "accepted", "whoever runs this node wrote it"


def test_a_merge_of_an_own_directive_with_another_s_text_has_to_be_accepted(
    kept: Kept, tmp_path: Path
) -> None:
    lines = ["one", "two", "three", "four", "five"]
    identity = kept.add("\n".join(lines), type="directive")
    path = str(tmp_path / "memory.jsonl")
    kept.call("memory.export", path=path)
    with keeping(tmp_path / "other") as other:
        other.call("memory.import", path=path)
        kept.call("memory.edit", id=identity, text="\n".join([*lines[:4], "FIVE"]))
        kept.call("memory.export", path=path)
        other.call("memory.edit", id=identity, text="\n".join(["ONE", *lines[1:]]))
        other.call("memory.import", path=path)
        merged = other.get(identity)
        assert merged["content"] == "ONE\ntwo\nthree\nfour\nFIVE"
        assert merged["trust"] == "unaccepted"


def test_what_came_from_a_third_party_is_untrusted(kept: Kept) -> None:
    identity = kept.add("the pier")
    with kept.local.projection() as reader:
        heads = reader.get(identity).state.heads
    change = Operation(id=identity, type="memory", set={"trust": "untrusted"}, base=heads)
    records.commit(kept.local, [Write(space=kept.local.feeds.home(), operation=change)])
    assert kept.get(identity)["trust"] == "untrusted"
