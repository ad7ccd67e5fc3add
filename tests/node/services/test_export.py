"""The export use-case: a file that verifies, of what the archive has now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from crdt import archive_file
from crdt.errors import Damaged, IndexUnavailable
from crdt.ids import conversation_id
from crdt.manifests import Tombstone
from node.services.export import handle
from node.services.ingest import handle as ingest
from node.services.rebuild import handle as rebuild
from node.services.requests import ExportRequest, IngestRequest, RebuildRequest
from tests.retrieval.archive_kit import SOURCE, Indexed, Said, body, ignore

GARBLE = "UPDATE tails SET body = x'00'"


@pytest.fixture
def indexed(tmp_path: Path) -> Indexed:
    return Indexed(tmp_path).tell(body("pier", ["the pier", "is open"]), body("crane", ["the crane"]))


def export(indexed: Indexed, **more: bool) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Export; the document, and the conversations of the file, which is checked whole."""
    path = indexed.root / "all.jsonl"
    with indexed.opened() as local:
        document = handle(local, ExportRequest(path=str(path), **more), ignore)
    archive_file.check(path, archive_file.read_manifest(path))
    return document, [msgspec.json.decode(line.data) for line in archive_file.lines(path)]


def test_the_file_verifies_and_has_every_conversation(indexed: Indexed) -> None:
    document, conversations = export(indexed)
    assert document["records"] == 2
    assert sorted(c["sourceId"] for c in conversations) == ["crane", "pier"]
    assert (indexed.root / "all.jsonl").stat().st_mode & 0o777 == 0o600


def test_events_are_numbered_by_their_place(indexed: Indexed) -> None:
    _, conversations = export(indexed)
    (pier,) = [c for c in conversations if c["sourceId"] == "pier"]
    assert [event["seq"] for event in pier["events"]] == [0, 1]


def test_what_was_removed_is_left_out_unless_everything_is_asked_for(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local:
        local.archive.commit([], [], Tombstone(removed=[conversation_id(SOURCE, "crane")]))
        local.follower.catch_up()
    assert export(indexed)[0]["records"] == 1
    assert export(indexed, everything=True)[0]["records"] == 2


def test_another_node_takes_the_file_in_and_says_the_same(indexed: Indexed, tmp_path: Path) -> None:
    indexed.tell(body("tools", [Said(text="ls", kind="tool-call", role="assistant"), "so it is", "ok"]))
    export(indexed)
    (tmp_path / "other").mkdir()
    other = Indexed(tmp_path / "other")
    with other.opened(writable=True) as local:
        ingest(local, IngestRequest(path=str(indexed.root / "all.jsonl")), ignore)
    with indexed.reader() as here, other.reader() as there:
        assert here.digest() == there.digest()
    first = (indexed.root / "all.jsonl").read_bytes()
    texts = [[event["text"] for event in c["events"]] for c in export(other)[1]]
    assert texts == [
        [e["text"] for e in msgspec.json.decode(line)["events"]] for line in first.splitlines()[1:]
    ]


def test_events_without_an_id_are_exported(indexed: Indexed) -> None:
    nameless = [{"kind": "message", "role": "user", "text": text} for text in ("one", "two")]
    identity = conversation_id("codex", "x")
    line = msgspec.json.encode({"id": identity, "source": "codex", "sourceId": "x", "events": nameless})
    path = indexed.root / "given.jsonl"
    archive_file.write(path, [line])
    with indexed.opened(writable=True) as local:
        ingest(local, IngestRequest(path=str(path), partial=True), ignore)
    (found,) = [c for c in export(indexed)[1] if c["sourceId"] == "x"]
    assert [(event.get("id"), event["text"]) for event in found["events"]] == [(None, "one"), (None, "two")]


def test_the_same_archive_gives_the_same_bytes(indexed: Indexed) -> None:
    first = export(indexed)[0]["contentSha256"]
    with indexed.opened(writable=True) as local:
        local.archive.append([body("pier", ["the pier", "is open"])], seal=False)
        local.archive.seal()
        rebuild(local, RebuildRequest(), ignore)
    assert export(indexed)[0]["contentSha256"] == first


def test_fragments_that_are_sealed_meanwhile_are_found(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]), body("crane", ["the crane"]), seal=False)

    def seal(_document: dict[str, object]) -> None:
        with indexed.opened(writable=True) as local:
            local.archive.seal()

    with indexed.opened() as local:
        document = handle(local, ExportRequest(path=str(tmp_path / "all.jsonl")), seal)
    assert document["records"] == 2
    assert "skipped" not in document


def test_an_index_behind_its_archive_is_not_taken_for_all(indexed: Indexed) -> None:
    with indexed.opened(writable=True) as local:
        local.archive.append([body("lighthouse", ["the light"])], seal=True)
    with pytest.raises(IndexUnavailable):
        export(indexed)


def test_damage_is_an_error_unless_a_part_is_asked_for(indexed: Indexed) -> None:
    for path in (indexed.state / "canonical" / "segments").glob("??/*.zst"):
        path.write_bytes(b"garbage")
    with pytest.raises(Damaged):
        export(indexed)
    document, conversations = export(indexed, partial=True)
    assert (document["skipped"], conversations) == (2, [])
    assert not archive_file.read_manifest(indexed.root / "all.jsonl").complete


@pytest.mark.parametrize("seal", [True, False])
def test_damage_that_the_index_was_made_anew_from_is_an_error_too(tmp_path: Path, *, seal: bool) -> None:
    indexed = Indexed(tmp_path).tell(body("pier", ["the pier"]), body("crane", ["the crane"]), seal=seal)
    for path in (indexed.state / "canonical" / "segments").glob("??/*.zst"):
        path.write_bytes(b"garbage")
    with indexed.opened(writable=True) as local:
        if not seal:
            local.feeds.run(lambda committer: committer.tables.connection.execute(GARBLE))
        rebuild(local, RebuildRequest(), ignore)
    with pytest.raises(Damaged):
        export(indexed)
    document, conversations = export(indexed, partial=True)
    assert (bool(document["skipped"]), conversations) == (True, [])
