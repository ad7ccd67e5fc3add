"""The export of shared memory: everything with its history, whole or not at all, private only if asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crdt import archive_file
from crdt.errors import BadInput, NotFound
from node.services.memory_file import FORM
from tests.node.services.memory_kit import Kept, keeping

Lines = list[dict[str, object]]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path / "state") as found:
        yield found


def export(kept: Kept, path: Path, **fields: object) -> Lines:
    """Export; the lines of the file, which is checked whole."""
    document = kept.call("memory.export", path=str(path), **fields)
    manifest = archive_file.read_manifest(path, FORM)
    archive_file.check(path, manifest)
    assert document["contentSha256"] == manifest.content_sha256
    lines = [msgspec.json.decode(line.data) for line in archive_file.lines(path)]
    said = [line for line in lines if line["line"] == "operation"]
    assert (document["operations"], document["output"]) == (len(said), str(path))
    assert document["records"] == len({line["id"] for line in said})
    return lines


def test_every_version_of_every_record_is_written_oldest_first(kept: Kept, tmp_path: Path) -> None:
    one = kept.add("one", tags=["t"])
    kept.call("memory.edit", id=one, text="ONE")
    kept.call("memory.tag", id=one, remove=["t"])
    two = kept.add("two")
    kept.call("memory.delete", ids=[two])
    kept.call("decision.add", decision="x", supersedes=[str(kept.call("decision.add", decision="w")["id"])])
    lines = export(kept, tmp_path / "memory.jsonl")
    assert [line["line"] for line in lines].count("space") == 1
    of_one = [line for line in lines if line.get("id") == one]
    assert [line.get("text") for line in of_one] == ["one", "ONE", None]
    assert of_one[2]["untag"] == [["t", of_one[0]["source"]]]
    assert [line.get("deleted") for line in lines if line.get("id") == two] == [None, True]
    assert sorted(str(line.get("type")) for line in lines[1:]) == ["decision"] * 2 + ["edge"] + ["memory"] * 5
    assert (tmp_path / "memory.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_is_private_is_written_only_when_it_is_asked_for(kept: Kept, tmp_path: Path) -> None:
    kept.add("for all")
    kept.add("for me", scope="agent")
    texts = [line.get("text") for line in export(kept, tmp_path / "a.jsonl")]
    assert texts == [None, "for all"]
    lines = export(kept, tmp_path / "b.jsonl", private=True)
    assert [line.get("text") for line in lines] == [None, "for all", None, "for me"]
    assert [line["kind"] for line in lines if line["line"] == "space"] == ["home", "private"]


def test_a_file_that_is_there_is_replaced_whole_or_not_at_all(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text("older")
    kept.add("one")
    kept.add("two")

    def fail(*_args: object) -> bytes:
        raise BadInput("no more")

    with monkeypatch.context() as patch:
        patch.setattr("node.services.memory_export.line_of", fail)
        with pytest.raises(BadInput, match="no more"):
            kept.call("memory.export", path=str(path))
    assert path.read_text() == "older"
    assert [other.name for other in tmp_path.glob("*memory*")] == ["memory.jsonl"]
    assert len(export(kept, path)) == 3
    with pytest.raises(NotFound):
        kept.call("memory.export", path=str(tmp_path / "absent" / "memory.jsonl"))


def test_more_records_than_a_page_has_are_all_written(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.services.memory_export.LIMIT_MAX", 2)
    added = [kept.add(str(number)) for number in range(5)]
    assert [line["id"] for line in export(kept, tmp_path / "m.jsonl")[1:]] == added


def test_nothing_kept_is_an_empty_file(tmp_path: Path) -> None:
    with keeping(tmp_path / "state", writable=False) as kept:
        assert export(kept, tmp_path / "memory.jsonl") == []
