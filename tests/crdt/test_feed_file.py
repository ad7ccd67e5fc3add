"""The file of feeds: what is written is what is read, and anything else is refused where it is odd."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from crdt import chains, feed_file, have, pages
from crdt.entries import Entry, EntryKind, parse
from crdt.errors import BadInput, EntryRefused, NotFound
from crdt.feed_file import Blob, Counts, Loose, PageUpdate, Part, Space
from crdt.have import Held
from tests.crdt.memory_chains import MemoryChains
from tests.crdt.signers import Feed, SeedSigner, genesis

ANNA = SeedSigner("anna")
FRAGMENT = b'{"a fragment":1}'


def home_with_a_fork() -> tuple[Feed, list[Entry]]:
    """Make a space of one feed; the entries from the fork on stand behind the others."""
    home = genesis(ANNA)
    home.records(5)
    fork = home.branch(home.entries[3], EntryKind.RECORD, b"fork")
    return home, [*home.entries[:4], *sorted([*home.entries[4:], fork], key=lambda e: (e.seq, e.hash))]


def fragment(data: bytes = FRAGMENT) -> Blob:
    return Blob(kind="fragment", sha256=hashlib.sha256(data).digest(), data=data)


def space_of(home: Feed) -> Space:
    last = home.entries[-1]
    return Space(
        space=home.space,
        have=have.encode({(last.author, last.inc): Held(last.seq, last.seq, last.hash)}),
    )


def parts() -> list[Part]:
    """Word a file with something of everything."""
    home, entries = home_with_a_fork()
    whole = list(pages.linear(entries))
    return [
        space_of(home),
        *(feed_file.page_part(page) for page in pages.paginate(whole)),
        *feed_file.loose_parts(entries[len(whole) :]),
        fragment(),
        Blob(kind="segment", sha256=bytes(32), data=b"z" * (5 << 19)),
        fragment(b""),
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "out.feeds"
    feed_file.write(path, parts())
    return path


def refusal(path: Path) -> EntryRefused:
    with pytest.raises(EntryRefused) as raised:
        feed_file.check(path)
    return raised.value


def frames(data: bytes) -> list[bytes]:
    """Cut a file into its frames, sizes apart."""
    cut, at = [], 14
    while at < len(data):
        size = int.from_bytes(data[at : at + 4])
        cut.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return cut


def joined(cut: list[bytes], *, start: bytes = b"atrium-feeds\0\1") -> bytes:
    return start + b"".join(len(frame).to_bytes(4) + frame for frame in cut)


def sealed(cut: list[bytes], counts: dict[str, int]) -> bytes:
    """Join frames and end them rightly, as whoever makes a file on purpose would."""
    before = joined(cut)
    end = {"frame": "end", "counts": counts, "sha256": hashlib.sha256(before).digest()}
    return before + joined([msgspec.msgpack.encode(end)], start=b"")


def test_what_is_written_is_what_is_read(file: Path) -> None:
    assert list(feed_file.read(file)) == parts()
    assert feed_file.check(file) == Counts(spaces=1, pages=1, entries=3, blobs=3)
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_same_parts_make_the_same_bytes(file: Path) -> None:
    before = file.read_bytes()
    feed_file.write(file, iter(parts()))
    assert file.read_bytes() == before


def test_an_empty_file_of_feeds_is_a_file(tmp_path: Path) -> None:
    assert feed_file.write(tmp_path / "f", []) == Counts() == feed_file.check(tmp_path / "f")


def test_feeds_go_from_one_node_to_another_by_file(file: Path) -> None:
    node = MemoryChains()
    for part in feed_file.read(file):
        if isinstance(part, PageUpdate | Loose):
            node.receive([parse(raw) for raw in feed_file.raws_of(part)])
    assert set(node.committed.values()) == set(home_with_a_fork()[1])
    assert node.forked


def test_loose_entries_are_cut_into_parts_of_a_megabyte() -> None:
    feed = Feed(ANNA, b"s" * 32)
    for size in (400 << 10, 400 << 10, 400 << 10, 10):
        feed.say(EntryKind.RECORD, bytes(size))
    assert [len(part.entries) for part in feed_file.loose_parts(feed.entries)] == [2, 2]
    assert list(feed_file.loose_parts([])) == []


def test_reading_tells_how_far_it_came(file: Path) -> None:
    told: list[int] = []
    feed_file.check(file, told.append)
    assert told == sorted(told)
    assert told[-1] == file.stat().st_size


def test_a_failed_export_leaves_what_was_there(file: Path) -> None:
    before = file.read_bytes()

    def broken() -> Iterator[Part]:
        yield parts()[0]
        raise BadInput("no more")

    with pytest.raises(BadInput):
        feed_file.write(file, broken())
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        feed_file.check(tmp_path / "nothing")


def test_a_file_that_was_cut_anywhere_is_refused(file: Path) -> None:
    data = file.read_bytes()
    sizes = [0, 5, 13, 14, 16, len(data) - 1, *random.Random(3).sample(range(len(data)), 40)]  # noqa: S311
    for size in sizes:
        file.write_bytes(data[:size])
        assert file.name in refusal(file).detail
    file.write_bytes(joined(frames(data)[:-1]))
    assert "cut" in refusal(file).detail


def test_an_error_names_the_place(file: Path) -> None:
    cut = frames(file.read_bytes())
    cut[2] = b"\xc1"
    file.write_bytes(joined(cut))
    error = refusal(file)
    assert f"frame at byte {len(joined(cut[:2]))}:" in error.detail
    assert "export it again" in error.hint


def test_another_file_and_a_later_version_are_told_apart(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(b"PK\3\4" + data)
    assert "no file of feeds" in refusal(file).detail
    file.write_bytes(data.replace(b"atrium-feeds\0\1", b"atrium-feeds\0\2"))
    assert "update this program" in refusal(file).hint


def test_more_behind_the_end_is_refused(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")
    assert "more follows" in refusal(file).detail


SPACE, PAGE = msgspec.msgpack.encode(space_of(genesis(ANNA))), msgspec.msgpack.encode(parts()[1])
OTHER = msgspec.msgpack.encode(space_of(genesis(ANNA, "other")))
NO_HAVE = msgspec.msgpack.encode(Space(space=bytes(32), have=b"\xc1"))
PART = {"frame": "blob", "kind": "segment", "sha256": bytes(32), "left": 1, "data": b"a"}


def frame(**fields: object) -> bytes:
    return msgspec.msgpack.encode({**PART, **fields})


@pytest.mark.parametrize(
    ("cut", "counts"),
    [
        pytest.param([SPACE, SPACE], {"spaces": 2}, id="a space twice"),
        pytest.param([PAGE], {"pages": 1}, id="a page of no space"),
        pytest.param([SPACE, frame(left=0), OTHER], {"spaces": 2, "blobs": 1}, id="a space behind a blob"),
        pytest.param([SPACE], {"spaces": 0}, id="counts of something else"),
        pytest.param([frame(), SPACE], {"blobs": 1}, id="a blob that does not go on"),
        pytest.param([frame(), frame(left=0, sha256=b"o" * 32)], {"blobs": 1}, id="another blob's end"),
        pytest.param([frame(), frame(left=1)], {"blobs": 1}, id="a blob that does not end"),
        pytest.param([frame(), frame(left=0, data=b"")], {"blobs": 1}, id="a blob that lacks bytes"),
        pytest.param([frame(left=2**40)], {"blobs": 1}, id="a blob that is too large"),
        pytest.param([frame(left=-1)], {"blobs": 1}, id="less than nothing left"),
        pytest.param([frame(left=0, kind="fragment")], {"blobs": 1}, id="another fragment than named"),
        pytest.param([frame(left=0, kind="secret")], {"blobs": 1}, id="an unknown kind of blob"),
        pytest.param([frame(left=0, more=1)], {"blobs": 1}, id="an unknown field"),
        pytest.param([frame(left=0, frame="other")], {}, id="an unknown frame"),
        pytest.param([frame(left=0, sha256=b"short")], {"blobs": 1}, id="a short hash"),
        pytest.param([b"\x91" * 100_000], {}, id="lists in lists"),
        pytest.param([b""], {}, id="an empty frame"),
        pytest.param([NO_HAVE], {"spaces": 1}, id="a have-vector that is none"),
    ],
)
def test_files_that_are_odd_on_purpose_are_refused(
    cut: list[bytes], counts: dict[str, int], tmp_path: Path
) -> None:
    path = tmp_path / "odd"
    path.write_bytes(sealed(cut, counts))
    assert "frame at byte" in refusal(path).detail


def test_a_frame_of_any_size_costs_nothing(file: Path) -> None:
    file.write_bytes(b"atrium-feeds\0\1" + b"\xff\xff\xff\xff")
    assert "at most" in refusal(file).detail


def test_pages_that_are_none_are_refused_when_they_are_opened(file: Path) -> None:
    page = parts()[1]
    assert isinstance(page, PageUpdate)
    with pytest.raises(EntryRefused):
        feed_file.raws_of(msgspec.structs.replace(page, inc=page.inc + 1))


def imported(path: Path) -> tuple[set[Entry], set[bytes]]:
    """Take in a file as an import does: check it, then judge what is in it."""
    node, fragments = MemoryChains(), set()
    feed_file.check(path)
    for part in feed_file.read(path):
        if isinstance(part, PageUpdate | Loose):
            node.receive([parse(raw) for raw in feed_file.raws_of(part)])
        elif isinstance(part, Blob) and part.kind == "fragment":
            fragments.add(part.data)
    return set(node.committed.values()), fragments


def without_check(path: Path) -> tuple[set[Entry], set[bytes]]:
    """Take what comes before the first odd thing."""
    node, fragments = MemoryChains(), set()
    try:
        for part in feed_file.read(path):
            if isinstance(part, PageUpdate | Loose):
                node.receive([parse(raw) for raw in feed_file.raws_of(part)])
            elif isinstance(part, Blob) and part.kind == "fragment":
                fragments.add(part.data)
    except EntryRefused:
        return set(node.committed.values()), fragments
    raise AssertionError("every flipped bit is told at the end at last")


@pytest.mark.parametrize("take", [imported, without_check])
def test_of_2000_flipped_bits_none_is_taken_in_with_other_content(
    take: Callable[[Path], tuple[set[Entry], set[bytes]]], tmp_path: Path
) -> None:
    draw, path = random.Random(5), tmp_path / "f"  # noqa: S311
    small = [part for part in parts() if not (isinstance(part, Blob) and part.kind == "segment")]
    feed_file.write(path, small)
    data = path.read_bytes()
    entries, fragments = imported(path)
    for _ in range(1_000):
        flipped = bytearray(data)
        flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        if take is imported:
            with pytest.raises(EntryRefused):
                take(path)
        else:
            found = take(path)
            assert found[0] <= entries
            assert found[1] <= fragments


def test_admission_is_what_judges_entries_from_a_file(file: Path) -> None:
    """A file made by an attacker with truly formed pages brings nothing in without the author's key."""
    home, _ = home_with_a_fork()
    forged = [msgspec.structs.replace(e, signature=bytes(64)) for e in home.entries]
    (page,) = pages.paginate(forged)
    feed_file.write(file, [space_of(home), feed_file.page_part(page)])
    node = MemoryChains()
    for part in feed_file.read(file):
        if isinstance(part, PageUpdate):
            verdicts = node.receive([parse(raw) for raw in feed_file.raws_of(part)])
            assert verdicts[0].reason is chains.Reason.SIGNATURE
    assert not node.committed


def test_loose_bytes_that_are_too_few_for_an_entry_make_the_file_none(tmp_path: Path) -> None:
    path = tmp_path / "feeds"
    feed_file.write(path, [feed_file.Loose(entries=[b""] * 1_000)])
    with pytest.raises(EntryRefused, match="too few for an entry"):
        feed_file.check(path)
