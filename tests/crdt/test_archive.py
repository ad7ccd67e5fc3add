"""The archive: durable fragments, their clocks, generations, and bytes that are checked when read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crdt.archive import Archive, Stored
from crdt.errors import Damaged
from crdt.manifests import Segment, Supersede, Tail, Tombstone
from crdt.segments import SEGMENT_BYTES_MAX, Body, build, fragment_sha256
from tests.crdt.samples import archive_in, bodies


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    made = archive_in(tmp_path)
    yield made
    made.log.close()


def replayed(archive: Archive) -> dict[str, Stored]:
    """Follow the log from its start, as an index that is made anew does: the first clock of each counts."""
    current, found = archive.current(), dict[str, Stored]()
    for logged in archive.log.since(0):
        if isinstance(logged.manifest, Segment) and logged.manifest.sha256 not in current:
            continue
        for stored, data in archive.load(logged):
            assert fragment_sha256(data) == stored.sha256
            first = found.get(stored.sha256, stored)
            found[stored.sha256] = Stored(sha256=stored.sha256, hlc=first.hlc, place=stored.place)
    return found


def segment_files(archive: Archive) -> list[str]:
    return list(archive.segments.names())


@pytest.mark.parametrize("seal", [False, True])
def test_what_was_appended_is_read_back_by_its_place(archive: Archive, seal: bool) -> None:
    made = bodies(4)
    appended = archive.append(made, seal=seal)
    assert {stored.sha256 for stored in appended.stored} == {body.sha256 for body in made}
    assert all((stored.place is not None) == seal for stored in appended.stored)
    by_hash = {body.sha256: body.data for body in made}
    for stored in appended.stored:
        assert archive.read(stored.sha256, stored.place) == by_hash[stored.sha256]
    assert appended.seq == archive.log.head() > 0
    assert replayed(archive) == {stored.sha256: stored for stored in appended.stored}


def test_nothing_appended_is_nothing_logged(archive: Archive) -> None:
    appended = archive.append([], seal=True)
    assert (appended.seq, appended.stored) == (0, ())
    assert archive.commit([], [], Tombstone()) == []
    assert archive.log.head() == 0


def test_what_waits_is_sealed_with_the_clock_that_it_had(archive: Archive) -> None:
    made = bodies(6)
    first = archive.append(made[:3], seal=False)
    second = archive.append(made[3:], seal=False)
    before = {stored.sha256: stored.hlc for stored in (*first.stored, *second.stored)}
    assert archive.seal() == 6
    assert archive.log.tails() == []
    after = replayed(archive)
    assert {sha256: stored.hlc for sha256, stored in after.items()} == before
    assert all(stored.place is not None for stored in after.values())
    assert archive.seal() == 0
    assert len(segment_files(archive)) == 1


def test_more_than_a_segment_holds_is_sealed_into_several(archive: Archive) -> None:
    big = [b"%d" % number * (SEGMENT_BYTES_MAX // 2 + 9) for number in range(3)]
    for data in big:
        archive.append([Body(sha256=fragment_sha256(data), data=data)], seal=False)
    assert archive.seal() == 3
    assert len(archive.current()) == 3


def test_a_fragment_that_waits_keeps_its_first_clock_when_a_segment_brings_it_again(archive: Archive) -> None:
    made = bodies(3)
    (waiting,) = archive.append(made[:1], seal=False).stored
    appended = archive.append(made, seal=True)
    again = {stored.sha256: stored.hlc for stored in appended.stored}
    assert again[waiting.sha256] == waiting.hlc
    assert len(set(again.values())) == 2
    assert {sha256: stored.hlc for sha256, stored in replayed(archive).items()} == again


def test_a_fragment_that_waits_keeps_its_first_clock_when_an_ingest_stages_it(archive: Archive) -> None:
    made = bodies(3)
    (waiting,) = archive.append(made[:1], seal=False).stored
    archive.commit([archive.stage(made)])
    assert replayed(archive)[waiting.sha256].hlc == waiting.hlc


def test_a_fragment_that_comes_twice_waits_once_and_keeps_its_first_clock(archive: Archive) -> None:
    made = bodies(1)
    (first,) = archive.append(made, seal=False).stored
    archive.append(made, seal=False)
    assert [hlc for _, hlc, _ in archive.log.tails()] == [first.hlc]
    assert replayed(archive)[first.sha256].hlc == first.hlc


def test_a_staged_segment_is_named_only_by_the_commit(archive: Archive) -> None:
    staged = archive.stage(bodies(2))
    assert archive.current() == {}
    assert segment_files(archive) == [staged.sha256]
    waiting = bodies(3)[2:]
    logged = archive.commit([staged], waiting, Tombstone(removed=["a" * 64]))
    assert [type(item.manifest) for item in logged] == [Segment, Tail, Tombstone]
    assert set(archive.current()) == {staged.sha256}
    assert [sha256.hex() for sha256, _, _ in archive.log.tails()] == [waiting[0].sha256]


def test_a_new_generation_takes_the_place_of_the_old_and_the_old_file_is_erased(archive: Archive) -> None:
    made = bodies(4)
    archive.append(made[:2], seal=True)
    archive.append(made[2:], seal=True)
    before = replayed(archive)
    replaced = list(archive.current())
    built = build(made)
    hlcs = {sha256: stored.hlc for sha256, stored in before.items()}
    archive.supersede(replaced, [(built, hlcs)], "merged")
    assert segment_files(archive) == [built.sha256]
    assert set(archive.current()) == {built.sha256}
    assert {sha256: stored.hlc for sha256, stored in replayed(archive).items()} == hlcs
    last = list(archive.log.since(0))[-1].manifest
    assert last == Supersede(replaced=replaced, by=[built.sha256], reason="merged")


def test_a_generation_of_the_same_bytes_keeps_its_file(archive: Archive) -> None:
    made = bodies(2)
    appended = archive.append(made, seal=True)
    hlcs = {stored.sha256: stored.hlc for stored in appended.stored}
    (name,) = archive.current()
    archive.supersede([name], [(build(made), hlcs)], "again")
    assert segment_files(archive) == [name]
    assert set(archive.current()) == {name}


def test_damage_to_a_segment_is_never_other_content(archive: Archive) -> None:
    made = bodies(8, 300)
    appended = archive.append(made, seal=True)
    (name,) = archive.current()
    path = archive.segments.path(name)
    whole = path.read_bytes()
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    choose = random.Random(seed)  # noqa: S311
    by_hash = {body.sha256: body.data for body in made}
    seen = 0
    for bit in choose.sample(range(len(whole) * 8), 300):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        for stored in appended.stored[:2]:
            try:
                assert archive.read(stored.sha256, stored.place) == by_hash[stored.sha256]
            except Damaged:
                seen += 1
    assert seen > 200


def test_a_place_that_holds_another_fragment_is_damage(archive: Archive) -> None:
    one, other = archive.append(bodies(2), seal=True).stored
    with pytest.raises(Damaged, match=f"{one.sha256} has other bytes"):
        archive.read(one.sha256, other.place)


def test_a_fragment_that_no_longer_waits_is_damage(archive: Archive) -> None:
    (stored,) = archive.append(bodies(1), seal=False).stored
    archive.seal()
    with pytest.raises(Damaged, match="no longer in the log"):
        archive.read(stored.sha256, None)


def test_a_manifest_that_lists_other_fragments_than_its_segment_is_damage(archive: Archive) -> None:
    staged = archive.stage(bodies(2))
    wrong = Segment(
        sha256=staged.sha256,
        size_bytes=staged.size_bytes,
        stored_bytes=staged.stored_bytes,
        fragments=staged.fragments[:1],
    )
    (logged,) = archive.log.append([wrong])
    with pytest.raises(Damaged, match="other fragments than its manifest"):
        list(archive.load(logged))


def test_the_sweep_leaves_what_the_log_names(archive: Archive) -> None:
    archive.append(bodies(2), seal=True)
    (name,) = archive.current()
    stray = archive.segments.path(name).parent / ".tmp-1-abc"
    stray.write_bytes(b"half")
    assert archive.sweep() == 1
    assert segment_files(archive) == [name]


def test_what_was_staged_in_vain_takes_no_space_and_what_is_named_stays(archive: Archive) -> None:
    named, unnamed = archive.stage(bodies(2)), archive.stage(bodies(3))
    archive.commit([named])
    archive.unstage([named, unnamed])
    assert segment_files(archive) == [named.sha256]


def test_a_crash_between_file_and_log_leaves_an_orphan_and_the_next_try_uses_it(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bodies(2)

    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(archive.log, "append", killed)
        with pytest.raises(KeyboardInterrupt):
            archive.append(made, seal=True)
    assert archive.current() == {}
    (orphan,) = segment_files(archive)
    archive.append(made, seal=True)
    assert set(archive.current()) == {orphan}
    assert len(replayed(archive)) == 2


def test_a_replaced_segment_whose_erasing_was_cut_short_goes_with_the_next_sweep(archive: Archive) -> None:
    made = bodies(2)
    appended = archive.append(made, seal=True)
    (old,) = archive.current()
    data = archive.segments.path(old).read_bytes()
    assert archive.newest_generation("redactor") == 0
    hlcs = {stored.sha256: stored.hlc for stored in appended.stored}
    archive.supersede([old], [(build([*made, *bodies(3)]), hlcs)], "redactor 2")
    archive.segments.path(old).write_bytes(data)
    assert archive.newest_generation("redactor") == archive.log.head()
    assert archive.newest_generation("merged") == 0
    assert archive.sweep() == 1
    assert segment_files(archive) == list(archive.current())
