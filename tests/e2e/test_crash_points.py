"""Every step of a writer towards the disk is a place to die at: the next run makes the state whole.

What `test_crash` does at moments by chance is done here at each step in turn, in forked children.
"""

from __future__ import annotations

import random
import shutil
import tarfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from archivist.sealing import QUIET_MS, SMALL_MAX
from crdt.archive_file import lines, write
from crdt.canonical import encode_canonical
from crdt.clock import HybridClock, wall_ms
from node.backup_files import hash_file, place_of, read_manifest
from node.composition import Local, open_local
from node.services import export, feeds, memory_reading, verify
from node.services.backup_requests import (
    BackupRequest,
    FeedsExportRequest,
    FeedsImportRequest,
    FeedsRequest,
    VerifyRequest,
)
from node.services.catalog import USE_CASES
from node.services.memory_requests import MemoryAdd, MemoryExport, MemoryImport, MemoryList
from node.services.requests import (
    CaptureRequest,
    ExportRequest,
    IngestRequest,
    NotesRequest,
    RebuildRequest,
    RedactRequest,
    Request,
)
from node.services.space_requests import IdentityRequest, MemberAdd
from node.services.status import describe
from tests.crdt.samples import CONVERSATION, body, event, fragment
from tests.e2e.deaths import STEPS_MAX, dies_at
from tests.e2e.states import settings, strays
from tests.e2e.transcripts import Talk, files_of, roots, write_notes
from tests.e2e.transcripts import write as write_files
from tests.kit import CHECKOUT, World

pytestmark = pytest.mark.timeout(300)

OLD_STATE = CHECKOUT / "tests" / "golden" / "state_1.tar.gz"
"""Written by the program of version 1: a segment, conversations that went on behind it, and fragments."""
OLD_DIGEST = "9914467383bfb756cd081f3ca7eaa4265af5be2c355253095622a403aef673d4"
SECRET = "gh" + "p_" + "a1B2" * 9
TALKS = [Talk(number, 4) for number in range(4)]
EVERY, SOME = 2, 6
"""A call has a step before and one behind it, and what lies behind one is what lies before the next.  Of long
runs some are died at, other ones in each run of this test."""
Prepare = Callable[[World], None]


@dataclass(frozen=True)
class Case:
    """A use-case, what is there before it, and its request."""

    name: str
    prepare: Prepare
    request: Callable[[World], Request]
    check: Callable[[World], None] = lambda _world: None
    check_undisturbed: Callable[[World], None] = lambda _world: None
    """What a run does when it comes to its end, and otherwise one that comes later."""
    stride: int = EVERY


def run(world: World, name: str, request: Request) -> dict[str, object]:
    """Run a use-case in this process as the command does, and give its document."""
    with closing(open_local(settings(world), writable=True)) as local:
        return USE_CASES[name].load()(local, request, lambda _document: None)


def look(world: World) -> dict[str, object]:
    """Give what two equal state directories have in common, and everything that was said."""
    path = world.base / "seen.jsonl"
    with closing(open_local(settings(world), writable=False)) as local:
        document = describe(local, 0.0)
        export.handle(local, ExportRequest(path=str(path)), lambda _document: None)
        found = {name: document[name] for name in ("digest", "notes_digest", "records")}
        return {**found, "events": _events(path), "fragments": _fragments(local), "memory": _memory(local)}


def _events(path: Path) -> list[bytes]:
    return [line.data.partition(b'"hosts"')[0] for line in lines(path)]


def _memory(local: Local) -> list[tuple[str, int]]:
    """Give each entry's text and number of versions; ids of spaces and clocks differ from run to run."""
    listed = memory_reading.list_(local, MemoryList(), lambda _document: None)["items"]
    assert isinstance(listed, list)
    return sorted((entry["content"], entry["version"]) for entry in listed)


def _fragments(local: Local) -> int:
    """Count fragments that the archive gives to one who reads all of it: none twice."""
    current = local.archive.current()
    found = [
        stored.sha256
        for logged in local.archive.log.since(0)
        if getattr(logged.manifest, "sha256", None) is None or logged.manifest.sha256 in current
        for stored, _ in local.archive.load(logged)
    ]
    return len(set(found))


def transcripts(world: World) -> None:
    """Write transcripts that nobody captured yet."""
    write_files(files_of(TALKS, world.home))


def captured(world: World) -> None:
    """Capture transcripts and index notes."""
    transcripts(world)
    run(world, "capture", capture_request(world))
    write_notes(world.work / "notes", 4)
    run(world, "ingest-notes", notes_request(world))


def grown(world: World) -> None:
    """Let transcripts go on after they were captured."""
    files = files_of(TALKS, world.home)
    write_files({path: data[: len(data) // 2] for path, data in files.items()})
    run(world, "capture", capture_request(world))
    write_files(files)


def scattered(world: World) -> None:
    """Leave a fragment that waited long enough, and so many small segments that they are merged then."""
    with closing(open_local(settings(world), writable=True)) as local:
        own = local.feeds._writing.own if local.feeds._writing else None
        assert own is not None
        own.clock = HybridClock(0, lambda: wall_ms() - 2 * QUIET_MS)
        for number in range(SMALL_MAX + 1):
            made = [body(fragment(event(f"{number}", number)))]
            local.archive.append(made, seal=number < SMALL_MAX)
        local.follower.catch_up()


def ingested(world: World) -> None:
    """Take an archive file in and write one that lacks a conversation, corrects one and has a new one."""
    write(world.base / "archive.jsonl", [conversation(name, name) for name in ("one", "two", "three")])
    run(world, "ingest", ingest_request(world))
    names = {"one": "one", "two": "two, corrected", "four": "four"}
    write(world.base / "archive.jsonl", [conversation(name, text) for name, text in names.items()])


def conversation(name: str, text: str) -> bytes:
    """Make a line of an archive file."""
    from crdt.ids import conversation_id, event_id

    identity = conversation_id("codex", name)
    said = {"id": event_id(identity, "1"), "kind": "message", "role": "user", "text": text, "seq": 0}
    document = {"id": identity, "source": "codex", "sourceId": name, "schemaVersion": 2, "events": [said]}
    return encode_canonical(document)


def leaked(world: World) -> None:
    """Archive a secret as an older redactor left it: in a segment, and in a fragment that waits."""
    older = [fragment(event(f"{n}", n, f"token={SECRET} {n}"), redactor=0) for n in range(4)]
    with closing(open_local(settings(world), writable=True)) as local:
        local.archive.append([body(item) for item in older[:2]], seal=True)
        local.archive.append([body(item) for item in older[2:]], seal=False)
        local.follower.catch_up()
        local.substrings.catch_up()
    assert older[0].conversation_id == CONVERSATION


def capture_request(world: World) -> CaptureRequest:
    return CaptureRequest(roots={name: [str(folder)] for name, folder in roots(world.home).items()})


def notes_request(world: World) -> NotesRequest:
    return NotesRequest(root=str(world.work / "notes"))


def ingest_request(world: World) -> IngestRequest:
    return IngestRequest(path=str(world.base / "archive.jsonl"))


def noted(world: World) -> None:
    """Write notes that nobody indexed yet."""
    write_notes(world.work / "notes", 4)


def segments_are_merged(world: World) -> None:
    """See that the small segments are one, and that the files of the old ones went."""
    with closing(open_local(settings(world), writable=False)) as local:
        assert list(local.archive.segments.names()) == sorted(local.archive.current())
        assert len(local.archive.current()) == 1


def secret_is_gone(world: World) -> None:
    """Look for the secret in every file, and in what archived files decompress to."""
    with closing(open_local(settings(world), writable=False)) as local:
        for name in local.archive.segments.names():
            assert all(SECRET.encode() not in found.data for found, _ in local.archive.segments.load(name))
    for path in world.state.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def of_the_first_version(world: World) -> None:
    """Lay out a state directory as the program of version 1 left it."""
    world.state.mkdir(mode=0o700)
    with tarfile.open(OLD_STATE) as packed:
        packed.extractall(world.state, filter="data")


def nothing_of_the_first_version_is_lost(world: World) -> None:
    """See that each event is served as that program served it, now from signed entries that verify."""
    with closing(open_local(settings(world), writable=False)) as local:
        assert describe(local, 0.0)["digest"] == OLD_DIGEST
        assert verify.handle(local, VerifyRequest(every_signature=True), lambda _document: None)["ok"]


def remembered(world: World) -> None:
    """Keep some memory and an archive, in a directory that takes what another node said."""
    captured(world)
    for number in range(3):
        run(world, "memory.add", MemoryAdd(text=f"entry {number}"))


def visited(world: World) -> None:
    """Let another node become a member, write into the same space, and hand its feeds over in a file."""
    remembered(world)
    (world.base / "guest").mkdir()
    guest = World(world.base / "guest")
    captured(guest)
    key = str(run(guest, "identity", IdentityRequest())["key"])
    run(world, "spaces.add-member", MemberAdd(space="home", key=key, name="guest"))
    with closing(open_local(settings(world), writable=False)) as local:
        space = local.feeds.home().hex()
    there = str(world.base / "there")
    run(world, "feeds.export", FeedsExportRequest(path=there))
    run(guest, "feeds.import", FeedsImportRequest(path=there))
    for number in range(3):
        run(guest, "memory.add", MemoryAdd(text=f"of the guest {number}", space=space))
    run(guest, "feeds.export", FeedsExportRequest(path=str(world.base / "back")))


def guest_and_host_are_level(world: World) -> None:
    """See that both nodes have the same entries and the same records of the space that they share."""
    found = []
    for each in (world, World(world.base / "guest")):
        with closing(open_local(settings(each), writable=False)) as local:
            spaces = feeds.overview(local, FeedsRequest(), lambda _document: None)["spaces"]
            assert isinstance(spaces, list)
            found.append({(space["digest"], space["projection_digest"]) for space in spaces})
    assert len(found[0] & found[1]) == 1


def written_down(world: World) -> None:
    """Export memory from one directory, to be imported by an empty one."""
    remembered(world)
    run(world, "memory.export", MemoryExport(path=str(world.base / "memory.jsonl")))
    shutil.rmtree(world.state)


def backup_is_whole(world: World) -> None:
    """See that the backup holds what its manifest names, byte for byte, and can be opened."""
    folder = world.base / "backup"
    manifest = read_manifest(folder)
    for name, sha256 in manifest.files.items():
        assert hash_file(place_of(folder, manifest.copy, name)) == sha256
    assert not list(folder.rglob("identity.key"))


CASES = (
    Case("capture", transcripts, capture_request),
    Case("capture", grown, capture_request),
    Case("capture", scattered, capture_request, check_undisturbed=segments_are_merged, stride=SOME),
    Case("ingest", ingested, ingest_request),
    Case("ingest-notes", noted, notes_request),
    Case("rebuild", captured, lambda _world: RebuildRequest(), stride=SOME),
    Case("capture", of_the_first_version, capture_request, check=nothing_of_the_first_version_is_lost),
    Case(
        "backup",
        remembered,
        lambda world: BackupRequest(path=str(world.base / "backup")),
        check=backup_is_whole,
    ),
    Case(
        "feeds.import",
        visited,
        lambda world: FeedsImportRequest(path=str(world.base / "back")),
        check=guest_and_host_are_level,
    ),
    Case(
        "memory.import",
        written_down,
        lambda world: MemoryImport(path=str(world.base / "memory.jsonl")),
    ),
    Case("redact", leaked, lambda _world: RedactRequest(apply=True), check=secret_is_gone, stride=SOME),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.prepare.__name__}")
def test_death_at_any_step_is_mended_by_the_next_run(quick_path: Path, case: Case) -> None:
    world = World(quick_path)
    case.prepare(world)
    request = case.request(world)
    before = quick_path / "before"
    shutil.copytree(world.state, before) if world.state.exists() else before.mkdir()
    run(world, case.name, request)
    expected = look(world) if case.name != "ingest-notes" else status_of(world)
    case.check(world)
    case.check_undisturbed(world)
    deaths = 0
    for step in range(random.SystemRandom().randint(1, case.stride), STEPS_MAX, case.stride):
        shutil.rmtree(world.state)
        shutil.copytree(before, world.state)
        if not dies_at(step, lambda: run(world, case.name, request)):
            break
        deaths += 1
        run(world, case.name, request)
        found = look(world) if case.name != "ingest-notes" else status_of(world)
        assert found == expected, f"after a death at step {step}"
        assert strays(world.state) == [], f"after a death at step {step}"
        case.check(world)
    assert 20 < deaths * case.stride < STEPS_MAX - 1


def status_of(world: World) -> dict[str, object]:
    """Give the digests and counts of a state directory that has no archive."""
    with closing(open_local(settings(world), writable=False)) as local:
        document = describe(local, 0.0)
    return {name: document[name] for name in ("digest", "notes_digest", "records")}
