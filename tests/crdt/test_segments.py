"""Segments: what they hold comes back, damage is seen, publication replaces nothing."""

from __future__ import annotations

import hashlib
import os
import random
import stat
import time
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt.canonical import encode_canonical
from crdt.errors import Damaged, NotFound
from crdt.segments import FRAME_BYTES, ORPHAN_AGE_S, Body, Built, SegmentDirectory, build, fragment_sha256
from tests.crdt.samples import bodies

HEADER = b'{"kind":"atrium-segment","version":1}\n'
FLIPS = 600
"""Of single bits, by chance with a printed seed."""


@pytest.fixture
def folder(tmp_path: Path) -> SegmentDirectory:
    (tmp_path / "segments").mkdir()
    return SegmentDirectory(tmp_path / "segments")


def several_frames() -> Built:
    """Three frames: texts that don't compress, a little more than a frame holds each."""
    choose = random.Random(7)  # noqa: S311
    texts = [choose.randbytes(FRAME_BYTES // 2 + 99).hex().encode() for _ in range(3)]
    return build(Body(sha256=fragment_sha256(text), data=text) for text in texts)


def forged(lines: bytes) -> Built:
    """Make a segment of any bytes, under the name that they have."""
    frames = (zstandard.ZstdCompressor().compress(lines),)
    return Built(
        sha256=hashlib.sha256(lines).hexdigest(),
        frames=frames,
        size_bytes=len(lines),
        fragment_sha256s=(),
        places=(),
    )


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")), min_size=1, max_size=12))
def test_fragments_come_back_sorted_by_hash_and_each_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]
) -> None:
    folder = SegmentDirectory(tmp_path_factory.mktemp("segments"))
    given_bodies = [Body(sha256=fragment_sha256(text), data=text) for text in texts]
    built = build(given_bodies)
    folder.publish(built)
    loaded = folder.load(built.sha256)
    assert [body for body, _ in loaded] == sorted(set(given_bodies), key=lambda body: body.sha256)
    assert tuple(place for _, place in loaded) == built.places
    assert tuple(body.sha256 for body, _ in loaded) == built.fragment_sha256s
    assert [folder.read(place) for place in built.places] == [body.data for body, _ in loaded]


def test_each_fragment_is_read_by_its_place_alone_in_whatever_frame(
    folder: SegmentDirectory,
) -> None:
    built = several_frames()
    folder.publish(built)
    assert len(built.frames) == 3
    loaded = folder.load(built.sha256)
    assert tuple(place for _, place in loaded) == built.places
    for sha256, place in zip(built.fragment_sha256s, built.places, strict=True):
        assert fragment_sha256(folder.read(place)) == sha256
        assert place.frame_bytes < 2 * FRAME_BYTES
    assert folder.stored_bytes(built.sha256) == sum(len(frame) for frame in built.frames)


def test_the_name_is_the_hash_of_what_any_zstd_reads_from_the_file(folder: SegmentDirectory) -> None:
    built = build(bodies(5))
    folder.publish(built)
    with folder.path(built.sha256).open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        whole = reader.read()
    assert hashlib.sha256(whole).hexdigest() == built.sha256
    assert len(whole) == built.size_bytes
    assert whole.startswith(HEADER)
    payload = hashlib.sha256(b"".join(whole.splitlines(keepends=True)[1:-1])).hexdigest()
    assert whole.endswith(encode_canonical({"count": 5, "payloadSha256": payload}) + b"\n")


def test_the_order_of_arrival_does_not_show() -> None:
    made = bodies(9)
    assert build(made) == build(reversed(made)) == build([*made, *made])


def test_no_flipped_bit_ever_gives_other_content(folder: SegmentDirectory) -> None:
    made = bodies(12, 200)
    built = build(made)
    folder.publish(built)
    path = folder.path(built.sha256)
    whole = path.read_bytes()
    expected = folder.load(built.sha256)
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    seen = 0
    choose = random.Random(seed)  # noqa: S311
    for bit in choose.sample(range(len(whole) * 8), FLIPS):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        try:
            assert folder.load(built.sha256) == expected
        except Damaged:
            seen += 1
    assert seen > FLIPS * 0.9


@pytest.mark.parametrize("kept", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_cut_file_is_damage(folder: SegmentDirectory, kept: float) -> None:
    built = several_frames()
    folder.publish(built)
    path = folder.path(built.sha256)
    os.truncate(path, int(path.stat().st_size * kept))
    with pytest.raises(Damaged, match=built.sha256):
        folder.load(built.sha256)
    with pytest.raises(Damaged):
        folder.read(built.places[-1])


def test_a_file_cut_between_two_frames_or_with_one_more_is_damage(folder: SegmentDirectory) -> None:
    built = several_frames()
    folder.publish(built)
    path = folder.path(built.sha256)
    for frames in (built.frames[:-1], built.frames[1:], (*built.frames, built.frames[0]), built.frames[::-1]):
        path.write_bytes(b"".join(frames))
        with pytest.raises(Damaged):
            folder.load(built.sha256)


def test_a_missing_file_is_damage_and_has_no_size(folder: SegmentDirectory) -> None:
    built = build(bodies(1))
    with pytest.raises(Damaged, match="can't be read"):
        folder.load(built.sha256)
    with pytest.raises(Damaged, match="can't be read"):
        folder.read(built.places[0])
    assert folder.stored_bytes(built.sha256) == 0
    folder.remove(built.sha256)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (b"", "no segment header"),
        (HEADER, "no footer"),
        (HEADER + b"{}\n", "no footer"),
        (HEADER + b'{"count":0,"payloadSha256":"0"}\n', "does not fit"),
        (HEADER + b'fragment\n{"count":2,"payloadSha256":"0"}\n', "does not fit"),
        (HEADER + b'fragment\n{"count":1,"payloadSha256":"0"}\n', "does not fit"),
        (HEADER + b'fragment\n{"count":1,"payloadSha256":"0","more":1}\n', "no footer"),
        (HEADER + b"fragment", "ends within a line"),
        (b"other header\n{}\n", "no segment header"),
    ],
)
def test_well_named_bytes_that_are_no_segment_are_damage(
    folder: SegmentDirectory, lines: bytes, words: str
) -> None:
    built = forged(lines)
    folder.publish(built)
    with pytest.raises(Damaged, match=words):
        folder.load(built.sha256)


@pytest.mark.parametrize(
    "name",
    ["", "ab", "../" * 20 + "x" * 4, "/" + "a" * 63, "A" * 64, "a" * 63 + "g", "a" * 63 + "\0", "a" * 65,
     "..%2f" * 12 + "abcd", "é" * 64, "a" * 63 + "\n"],
)  # fmt: skip
def test_no_name_leads_out_of_the_folder(folder: SegmentDirectory, name: str) -> None:
    with pytest.raises(NotFound, match="no segment name"):
        folder.path(name)


def test_a_file_of_that_name_is_never_replaced(folder: SegmentDirectory) -> None:
    built = build(bodies(3))
    folder.publish(built)
    path = folder.path(built.sha256)
    before = path.stat()
    folder.publish(built)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_that_appears_meanwhile_is_not_replaced(
    folder: SegmentDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build(bodies(3))
    path = folder.path(built.sha256)
    link = os.link

    def link_second(source: Path, target: Path) -> None:
        target.write_bytes(b"the other one's")
        link(source, target)

    monkeypatch.setattr(os, "link", link_second)
    folder.publish(built)
    assert path.read_bytes() == b"the other one's"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_files_are_private(folder: SegmentDirectory) -> None:
    built = build(bodies(1))
    folder.publish(built)
    path = folder.path(built.sha256)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_names_are_durable_when_publishing_returns_also_of_a_file_that_was_there(
    folder: SegmentDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crdt import segments

    synced: list[Path] = []
    monkeypatch.setattr(segments, "fsync_directory", synced.append)
    built = build(bodies(1))
    for _ in range(2):
        synced.clear()
        folder.publish(built)
        assert synced == [folder.path(built.sha256).parent, folder.path(built.sha256).parent.parent]


def test_a_failed_write_leaves_nothing(folder: SegmentDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    built = build(bodies(1))
    with pytest.raises(OSError, match="No space"):
        folder.publish(built)
    assert list(folder.path(built.sha256).parent.iterdir()) == []


def test_the_sweep_takes_temporary_files_and_orphans_of_a_day_only(folder: SegmentDirectory) -> None:
    named, orphan, young = (build(bodies(count)) for count in (1, 2, 3))
    for built in (named, orphan, young):
        folder.publish(built)
    now_s = time.time()
    root = folder.path(named.sha256).parent.parent
    strays = [root / built.sha256[:2] / f".tmp-{number}-x" for number, built in enumerate((named, orphan))]
    for stray in strays:
        stray.write_bytes(b"half")
    foreign = root / "ab" / "notes.jsonl.zst"
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_bytes(b"somebody's")
    for built in (named, orphan):
        os.utime(folder.path(built.sha256), (now_s - ORPHAN_AGE_S - 60,) * 2)
    os.utime(foreign, (0, 0))
    assert folder.sweep({named.sha256}, now_s) == 3
    assert list(folder.names()) == sorted([named.sha256, young.sha256])
    assert not any(stray.exists() for stray in strays)
    assert foreign.exists()
    assert folder.sweep({named.sha256}, now_s) == 0


def test_a_segment_in_the_wrong_place_is_not_named(folder: SegmentDirectory) -> None:
    built = build(bodies(1))
    folder.publish(built)
    path = folder.path(built.sha256)
    other = path.parent.parent / ("00" if built.sha256[:2] != "00" else "01")
    other.mkdir()
    path.rename(other / path.name)
    assert list(folder.names()) == []
