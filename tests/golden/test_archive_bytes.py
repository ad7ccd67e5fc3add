"""Bytes, names, ids and the digest of a fixed archive may never change: nodes compare and exchange them.

`archive.json` holds fragments of two conversations as the archive keeps them, one of them corrected and
one with a line separator, and all that follows from them.  A change of this table needs a migration of
every archive, and an agreement with every linked node.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from crdt.archive import decode_fragment
from crdt.canonical import encode_canonical
from crdt.segments import Body, build, fragment_sha256
from node import config
from node.composition import Local, open_local
from node.services import export, rebuild
from node.services.requests import ExportRequest, RebuildRequest

TABLE = json.loads(Path(__file__).with_name("archive.json").read_text("utf-8"))
FRAGMENTS: list[str] = TABLE["fragments"]


def golden_bodies() -> list[Body]:
    return [Body(sha256=fragment_sha256(text.encode()), data=text.encode()) for text in FRAGMENTS]


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    """Open a state directory whose archive is the table's, the first fragments first."""
    environ = {"ATRIUM_STATE": str(tmp_path / "state"), "HOME": str(tmp_path)}
    settings = config.load(environ=environ, directory=tmp_path)
    with closing(open_local(settings, writable=True)) as made:
        bodies = golden_bodies()
        made.archive.append(bodies[:2], seal=False)
        made.archive.append(bodies[2:], seal=True)
        made.follower.catch_up()
        yield made


def records_of(local: Local) -> list[list[str]]:
    with local.reader() as reader:
        rows = reader.connection.execute("SELECT record_id, content_sha256 FROM records ORDER BY record_id")
        return [[record.hex(), content.hex()] for record, content in rows]


def exported(local: Local, path: Path) -> list[str]:
    export.handle(local, ExportRequest(path=str(path)), lambda _document: None)
    return path.read_text("utf-8").split("\n")


def test_fragments_have_these_bytes_and_names() -> None:
    again = [encode_canonical(decode_fragment(text.encode())) for text in FRAGMENTS]
    assert [data.decode() for data in again] == FRAGMENTS
    assert [body.sha256 for body in golden_bodies()] == TABLE["fragmentSha256s"]


def test_a_segment_has_these_bytes_and_this_name() -> None:
    built = build(golden_bodies())
    whole = b"".join(zstandard.ZstdDecompressor().decompress(frame) for frame in built.frames)
    assert whole.decode().split("\n") == TABLE["segment"]
    assert built.sha256 == TABLE["segmentSha256"] == hashlib.sha256(whole).hexdigest()
    assert built.size_bytes == len(whole)


def test_records_have_these_ids_and_the_archive_this_digest(local: Local) -> None:
    assert records_of(local) == TABLE["records"]
    with local.reader() as reader:
        assert reader.digest() == TABLE["digest"]
    joined = "".join(record + content for record, content in TABLE["records"])
    assert hashlib.sha256(bytes.fromhex(joined)).hexdigest() == TABLE["digest"]


def test_an_index_that_is_made_anew_has_the_same_records(local: Local) -> None:
    document = rebuild.handle(local, RebuildRequest(), lambda _document: None)
    assert document["digest"] == TABLE["digest"]
    assert records_of(local) == TABLE["records"]


def test_the_single_file_has_these_bytes(local: Local, tmp_path: Path) -> None:
    head, *rest = exported(local, tmp_path / "a.jsonl")
    assert rest == TABLE["export"]
    manifest = json.loads(head)
    assert {key: value for key, value in manifest.items() if key != "createdAt"} == TABLE["manifest"]
    assert len(head) == 1023


def test_whether_fragments_wait_or_are_sealed_does_not_show_in_the_file(local: Local, tmp_path: Path) -> None:
    before = exported(local, tmp_path / "a.jsonl")[1:]
    assert local.archive.seal() == 2
    local.follower.catch_up()
    assert exported(local, tmp_path / "b.jsonl")[1:] == before == TABLE["export"]
