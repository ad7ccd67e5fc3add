"""What every manifest log promises, over the store and over the one in memory that tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crdt.manifests import Logged, ManifestLog, Segment, Supersede, Tail, Tombstone
from crdt.segments import Body
from tests.crdt.logs import open_log
from tests.crdt.memory_log import MemoryLog
from tests.crdt.samples import bodies

Opener = Callable[[Path], ManifestLog]
OPENERS: dict[str, Opener] = {
    "store": lambda folder: open_log(folder / "feeds.db"),
    "memory": lambda _folder: MemoryLog(),
}


@pytest.fixture(params=OPENERS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ManifestLog]:
    made = OPENERS[request.param](tmp_path)
    yield made
    made.close()


def tail(made: list[Body]) -> Tail:
    return Tail(fragments=[bytes.fromhex(body.sha256) for body in made])


def segment(made: list[Body], hlc: int = 0) -> Segment:
    return Segment(
        sha256="5" * 64,
        size_bytes=1,
        stored_bytes=1,
        fragments=[(bytes.fromhex(body.sha256), hlc) for body in made],
    )


def test_an_empty_log_has_nothing(log: ManifestLog) -> None:
    assert log.head() == 0
    assert list(log.since(0)) == []
    assert log.tails() == []
    assert log.tail_body(b"\0" * 32) is None


def test_every_kind_comes_back_in_order_with_rising_places_and_clocks(log: ManifestLog) -> None:
    manifests = [
        segment(bodies(2), 7),
        Supersede(replaced=["1" * 64], by=["2" * 64], reason="merged"),
        Tombstone(removed=["3" * 64], revived=["4" * 64]),
        tail([]),
    ]
    logged = log.append(manifests)
    assert [item.manifest for item in logged] == manifests
    assert list(log.since(0)) == logged
    assert [item.seq for item in logged] == sorted({item.seq for item in logged})
    assert [item.hlc for item in logged] == sorted({item.hlc for item in logged})
    assert log.head() == logged[-1].seq
    (later,) = log.append([Tombstone()])
    assert later.seq > logged[-1].seq
    assert later.hlc > logged[-1].hlc


def test_since_begins_behind_the_place(log: ManifestLog) -> None:
    logged = log.append([Tombstone(removed=[str(number)]) for number in range(4)])
    for number, item in enumerate(logged):
        assert list(log.since(item.seq)) == logged[number + 1 :]
    assert list(log.since(log.head() + 9)) == []


def test_waiting_fragments_have_the_clock_of_their_manifest_and_come_oldest_first(log: ManifestLog) -> None:
    made = bodies(3)
    (first,) = log.append([tail(made[:1])], made[:1])
    (second,) = log.append([tail(made[1:])], made[1:])
    expected = [(made[0], first.hlc), (made[1], second.hlc), (made[2], second.hlc)]
    assert log.tails() == [(bytes.fromhex(body.sha256), hlc, len(body.data)) for body, hlc in expected]
    assert [log.tail_body(bytes.fromhex(body.sha256)) for body in made] == [body.data for body in made]


def test_the_clock_of_waiting_fragments_is_their_own_manifest_s_and_no_later_one(log: ManifestLog) -> None:
    made = bodies(2)
    first, second, _ = log.append([tail(made[:1]), tail(made[1:]), Tombstone(removed=["1" * 64])], made)
    assert [hlc for _, hlc, _ in log.tails()] == [first.hlc, second.hlc]


def test_folding_keeps_what_is_there(log: ManifestLog) -> None:
    made = bodies(2)
    logged = log.append([tail(made)], made)
    log.fold()
    assert list(log.since(0)) == logged
    assert len(log.tails()) == 2
    log.append([segment(made)])
    log.fold()
    assert log.tails() == []


def test_waiting_twice_is_waiting_once_since_the_first_time(log: ManifestLog) -> None:
    made = bodies(1)
    (first,) = log.append([tail(made)], made)
    log.append([tail(made)], made)
    assert [hlc for _, hlc, _ in log.tails()] == [first.hlc]


def test_a_segment_ends_the_waiting_of_its_fragments_and_of_no_other(log: ManifestLog) -> None:
    made = bodies(3)
    log.append([tail(made)], made)
    log.append([segment(made[:2])])
    assert [sha256 for sha256, _, _ in log.tails()] == [bytes.fromhex(made[2].sha256)]
    assert log.tail_body(bytes.fromhex(made[0].sha256)) is None


def test_an_append_that_fails_leaves_nothing(log: ManifestLog) -> None:
    made = bodies(2)
    (kept,) = log.append([tail(made[:1])], made[:1])
    broken = Body(sha256="no hex", data=b"")
    with pytest.raises(ValueError, match="hexadecimal"):
        log.append([segment(made[:1]), tail(made[1:])], [made[1], broken])
    assert list(log.since(0)) == [kept]
    assert [sha256 for sha256, _, _ in log.tails()] == [bytes.fromhex(made[0].sha256)]
    (later,) = log.append([Tombstone()])
    assert isinstance(later, Logged)
    assert list(log.since(kept.seq)) == [later]
