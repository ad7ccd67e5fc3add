"""The order in which a machine came to know things never shows: digests, exports and answers are equal.

The same transcripts are captured at once, file by file, in pieces as they grew, by agent, and by way of an
archive file; and an index that grew is compared with one that is made anew.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crdt.manifests import Segment
from crdt.segments import SegmentDirectory, build
from node.composition import Local, open_local
from node.services import export
from node.services.requests import ExportRequest
from tests.crdt.samples import body, event, fragment
from tests.e2e.states import answers, exported, said, settings, standing, strays
from tests.e2e.transcripts import ResumedTalk, Talk, files_of, queries, roots, write, write_notes
from tests.kit import World

TALKS = [
    *(Talk(number, 3 + number % 9) for number in range(24)),
    *(ResumedTalk(number, 14) for number in (40, 41, 44)),
]
QUERIES = queries(20)
Feed = Callable[[World, dict[Path, bytes], random.Random], None]


def new_world(base: Path, name: str) -> World:
    (base / name).mkdir()
    return World(base / name)


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a world in which everything was captured by one run."""
    world = new_world(tmp_path_factory.mktemp("orders"), "at-once")
    write(files_of(TALKS, world.home))
    world.run("capture").ok()
    return world


def by_file(world: World, files: dict[Path, bytes], choose: random.Random) -> None:
    """Write and capture a few files at a time, in an order by chance."""
    paths = choose.sample(sorted(files), len(files))
    for start in range(0, len(paths), 7):
        write({path: files[path] for path in paths[start : start + 7]})
        world.run("capture").ok()


def growing(world: World, files: dict[Path, bytes], choose: random.Random) -> None:
    """Let every file grow at its own pace, cut anywhere, within a line too."""
    steps = 5
    ends = {
        path: sorted(choose.randint(0, len(data)) for _ in range(steps - 1)) for path, data in files.items()
    }
    for step in range(steps):
        cut = {path: (ends[path][step] if step < steps - 1 else len(data)) for path, data in files.items()}
        write({path: data[: cut[path]] for path, data in files.items()})
        world.run("capture").ok()


def by_agent(world: World, files: dict[Path, bytes], choose: random.Random) -> None:
    """Read one agent's directory after the other, from where it was named, then everything."""
    write(files)
    places = sorted(roots(world.home).items())
    choose.shuffle(places)
    for provider, folder in places:
        for root in choose.sample(sorted(folder.iterdir()), len(list(folder.iterdir()))):
            world.run("capture", "--provider", provider, "--root", str(root)).ok()
        world.run("capture", "--provider", provider, "--root", str(folder)).ok()
    world.run("capture").ok()


def rewritten(world: World, files: dict[Path, bytes], choose: random.Random) -> None:
    """Capture files whose texts are then corrected in place, as an agent does that writes its file anew."""
    own = {path: data for path, data in files.items() if path.stem not in RESUMED}
    paths = set(choose.sample(sorted(own), len(own) // 2))
    write({path: data.replace(b"Turn ", b"Trun ") if path in paths else data for path, data in files.items()})
    world.run("capture").ok()
    write(files)
    world.run("capture").ok()


RESUMED = {name for talk in TALKS[24:] for name in (talk.session, talk.identity("again"))}


@pytest.mark.parametrize("feed", [by_file, growing, by_agent, rewritten], ids=lambda feed: str(feed.__name__))
def test_the_order_of_capture_does_not_show(at_once: World, quick_path: Path, feed: Feed) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    world = new_world(quick_path, "world")
    feed(world, files_of(TALKS, world.home), random.Random(seed))  # noqa: S311
    assert standing(world) == standing(at_once)
    assert said(exported(world)) == said(exported(at_once))
    assert answers(world, QUERIES) == answers(at_once, QUERIES)


def test_capturing_again_changes_nothing(at_once: World) -> None:
    before, archive = standing(at_once), exported(at_once)
    document = at_once.run("capture", "--json").document()
    assert (document["fragments"], document["records"]) == (0, 0)
    assert standing(at_once) == before
    assert exported(at_once) == archive


def test_what_was_exported_and_ingested_is_what_was_captured(at_once: World, quick_path: Path) -> None:
    archive = at_once.base / "archive.jsonl"
    conversations = said(exported(at_once, archive.name))
    world = new_world(quick_path, "world")
    world.run("ingest", str(archive)).ok()
    assert standing(world) == standing(at_once)
    assert said(exported(world)) == conversations
    assert answers(world, QUERIES) == answers(at_once, QUERIES)
    document = world.run("ingest", str(archive), "--json").document()
    assert (document["written"], document["unchanged"]) == (0, len(conversations))
    write(files_of(TALKS, world.home))
    world.run("capture").ok()
    assert standing(world) == standing(at_once)


def test_an_index_that_is_lost_is_made_anew_with_the_same_answers(quick_path: Path) -> None:
    world = new_world(quick_path, "world")
    files = files_of(TALKS, world.home)
    write_notes(world.work / "notes", 30)
    growing(world, files, random.Random(5))  # noqa: S311
    world.run("ingest-notes", str(world.work / "notes")).ok()
    (world.work / "notes" / "part-0" / "note-0.md").write_text("# Another\n\nThe tide turned.\n", "utf-8")
    (world.work / "notes" / "part-1" / "note-1.md").unlink()
    world.run("ingest-notes", str(world.work / "notes")).ok()
    before, found, archive = standing(world), answers(world, QUERIES), exported(world)
    assert sum(bool(hits) for hits in found) == len(QUERIES)
    shutil.rmtree(world.state / "derived")
    world.run("rebuild").ok()
    assert standing(world) == before
    assert answers(world, QUERIES) == found
    assert exported(world) == archive
    assert strays(world.state) == []


def test_what_a_full_ingest_removed_stays_away_when_everything_is_made_anew(quick_path: Path) -> None:
    world, other = new_world(quick_path, "world"), new_world(quick_path, "other")
    write(files_of(TALKS[:6], other.home))
    other.run("capture").ok()
    exported(other, "first.jsonl")
    world.run("ingest", str(other.base / "first.jsonl")).ok()
    smaller = new_world(quick_path, "smaller")
    write(files_of(TALKS[:4], smaller.home))
    smaller.run("capture").ok()
    exported(smaller, "second.jsonl")
    assert world.run("ingest", str(smaller.base / "second.jsonl"), "--json").document()["removed"] == 2
    expected = standing(world)
    assert expected == standing(smaller)
    with closing(open_local(settings(world), writable=True)) as local:
        assert local.archive.seal() > 0
    for _ in range(2):
        shutil.rmtree(world.state / "derived")
        world.run("rebuild").ok()
        assert standing(world) == expected
    world.run("ingest", str(other.base / "first.jsonl")).ok()
    assert standing(world) == standing(other)


def test_two_machines_that_know_a_part_each_end_with_the_same_bytes(quick_path: Path) -> None:
    """Three events here and five there, of one conversation; segments and clocks are exchanged."""
    moment = "2026-01-05T09:00:0{}.000Z"
    said_here = fragment(
        *(event(str(n), n, timestamp=moment.format(n)) for n in range(3)), hosts=("laptop",), path="a.jsonl"
    )
    said_there = fragment(
        *(event(str(n), n, timestamp=moment.format(n)) for n in range(2, 7)),
        hosts=("server",),
        path="b.jsonl",
    )
    files = []
    for name, own, foreign in (("here", said_here, said_there), ("there", said_there, said_here)):
        world = new_world(quick_path, name)
        with closing(open_local(settings(world), writable=True)) as local:
            local.archive.append([body(own)], seal=False)
            receive(local, foreign_segment(local, foreign, 77 << 16 if foreign is said_there else 66 << 16))
            receive(local, foreign_segment(local, own, 77 << 16 if own is said_there else 66 << 16))
            local.follower.catch_up()
            path = world.base / "export.jsonl"
            export.handle(local, ExportRequest(path=str(path)), lambda _document: None)
        files.append(path.read_bytes().partition(b"\n")[2])
    assert files[0] == files[1]
    assert files[0].count(b'"seq"') == 7


def foreign_segment(local: Local, of: object, hlc: int) -> Segment:
    """Put a segment file where the mesh would, and give its manifest with the clock of its author."""
    built = build([body(of)])  # type: ignore[arg-type]
    folder: SegmentDirectory = local.archive.segments
    folder.publish(built)
    return Segment(
        sha256=built.sha256,
        size_bytes=built.size_bytes,
        stored_bytes=folder.stored_bytes(built.sha256),
        fragments=[(bytes.fromhex(sha256), hlc) for sha256 in built.fragment_sha256s],
    )


def receive(local: Local, manifest: Segment) -> None:
    """Log the manifest as if it had come from its author."""
    local.archive.log.append([manifest])
