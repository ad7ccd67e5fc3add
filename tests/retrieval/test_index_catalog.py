"""The catalog finds what a conversation has in the archive, wherever it lies by now."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt import segments
from crdt.errors import Damaged
from crdt.ids import conversation_id
from tests.retrieval.archive_kit import SOURCE, Indexed, body


def test_a_conversation_is_found_with_its_fragments(tmp_path: Path) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        local.archive.append([body("harbour", ["where is the crane", "by the pier"])], seal=False)
        local.follower.catch_up()
        catalog = local.catalog()
        row = catalog.find(conversation_id(SOURCE, "harbour"))
        assert row is not None
        (stamped,) = catalog.fragments(row)
        assert [event.text for event in stamped.fragment.events] == ["where is the crane", "by the pier"]


def test_a_fragment_is_found_after_it_was_sealed(tmp_path: Path) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        local.archive.append([body("harbour", ["where is the crane"])], seal=False)
        local.follower.catch_up()
        row = local.catalog().find(conversation_id(SOURCE, "harbour"))
        assert row is not None
        (waiting,) = local.catalog().fragments(row)
        assert local.archive.seal() == 1
        local.follower.catch_up()
        (sealed,) = local.catalog().fragments(row)
        assert sealed == waiting


def test_a_fragment_is_found_in_a_segment_that_came_again_and_is_laid_out_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        said = {name: [f"where is the {name}"] for name in ("harbour", "crane", "pier")}
        local.archive.append([body(name, texts) for name, texts in said.items()], seal=True)
        local.follower.catch_up()
        (name,) = local.archive.segments.names()
        path = local.archive.segments.path(name)
        stored = path.read_bytes()
        path.write_bytes(b"")
        monkeypatch.setattr(segments, "FRAME_BYTES", 1)
        assert local.archive.take_segment(name, stored)
        assert path.read_bytes() != stored
        for conversation, texts in said.items():
            row = local.catalog().find(conversation_id(SOURCE, conversation))
            assert row is not None
            (stamped,) = local.catalog().fragments(row)
            assert [event.text for event in stamped.fragment.events] == texts


def test_an_unknown_conversation_is_not_found(tmp_path: Path) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        assert local.catalog().find(conversation_id(SOURCE, "nowhere")) is None


def test_damaged_bytes_are_reported_not_served(tmp_path: Path) -> None:
    with Indexed(tmp_path).opened(writable=True) as local:
        local.archive.append([body("harbour", ["where is the crane"])], seal=True)
        local.follower.catch_up()
        row = local.catalog().find(conversation_id(SOURCE, "harbour"))
        assert row is not None
        (name,) = local.archive.segments.names()
        path = local.archive.segments.path(name)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x40
        path.write_bytes(data)
        with pytest.raises(Damaged):
            local.catalog().fragments(row)
