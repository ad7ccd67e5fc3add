"""Manifests in their stored form; what a log does with them is in tests/contracts."""

from __future__ import annotations

import msgspec
import pytest

from crdt.manifests import Manifest, Segment, Supersede, Tail, Tombstone

EACH: list[tuple[int, Manifest]] = [
    (4, Segment(sha256="a" * 64, size_bytes=2, stored_bytes=1, fragments=[(b"\1" * 32, 1 << 62), (b"", 0)])),
    (5, Tail(fragments=[b"\0" * 32])),
    (6, Supersede(replaced=["a"], by=["b", "c"], reason="merged")),
    (7, Tombstone(removed=["a"], revived=[])),
]


@pytest.mark.parametrize(("kind", "manifest"), EACH)
def test_a_manifest_comes_back_with_the_number_of_its_kind(kind: int, manifest: Manifest) -> None:
    data = msgspec.msgpack.encode(manifest)
    assert msgspec.msgpack.decode(data, type=Manifest) == manifest
    assert msgspec.msgpack.decode(data)["kind"] == kind


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"kind": 9}), type=Manifest)
