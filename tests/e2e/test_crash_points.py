"""Every step of a writer towards the disk is a place to die at: the next run makes the state whole.

What `test_crash` does at moments by chance is done here at each step in turn, in forked children.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from archivist.sealing import QUIET_MS, SMALL_MAX
from crdt.archive_file import lines, write
from crdt.canonical import encode_canonical
from crdt.clock import HybridClock, wall_ms
from node.composition import Local, open_local
from node.services import export
from node.services.catalog import USE_CASES
from node.services.requests import (
    CaptureRequest,
    ExportRequest,
    IngestRequest,
    NotesRequest,
    RebuildRequest,
    RedactRequest,
    Request,
)
from node.services.status import describe
from tests.crdt.samples import CONVERSATION, body, event, fragment
from tests.e2e.deaths import STEPS_MAX, dies_at
from tests.e2e.states import settings, strays
from tests.e2e.transcripts import Talk, files_of, roots, write_notes
from tests.e2e.transcripts import write as write_files
from tests.kit import World

pytestmark = pytest.mark.timeout(300)

SECRET = "gh" + "p_" + "a1B2" * 9
TALKS = [Talk(number, 4) for number in range(4)]
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


def run(world: World, name: str, request: Request) -> None:
    """Run a use-case in this process as the command does."""
    with closing(open_local(settings(world), writable=True)) as local:
        USE_CASES[name].load()(local, request, lambda _document: None)


def look(world: World) -> dict[str, object]:
    """Give what two equal state directories have in common, and everything that was said."""
    path = world.base / "seen.jsonl"
    with closing(open_local(settings(world), writable=False)) as local:
        document = describe(local, 0.0)
        export.handle(local, ExportRequest(path=str(path)), lambda _document: None)
        found = {name: document[name] for name in ("digest", "notes_digest", "records")}
        return {**found, "events": _events(path), "fragments": _fragments(local)}


def _events(path: Path) -> list[bytes]:
    return [line.data.partition(b'"hosts"')[0] for line in lines(path)]


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
        local.archive.log._clock = HybridClock(0, lambda: wall_ms() - 2 * QUIET_MS)  # type: ignore[attr-defined]
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


CASES = (
    Case("capture", transcripts, capture_request),
    Case("capture", grown, capture_request),
    Case("capture", scattered, capture_request, check_undisturbed=segments_are_merged),
    Case("ingest", ingested, ingest_request),
    Case("ingest-notes", noted, notes_request),
    Case("rebuild", captured, lambda _world: RebuildRequest()),
    Case("redact", leaked, lambda _world: RedactRequest(apply=True), check=secret_is_gone),
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
    for step in range(1, STEPS_MAX):
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
    assert 20 < deaths < STEPS_MAX - 1


def status_of(world: World) -> dict[str, object]:
    """Give the digests and counts of a state directory that has no archive."""
    with closing(open_local(settings(world), writable=False)) as local:
        document = describe(local, 0.0)
    return {name: document[name] for name in ("digest", "notes_digest", "records")}
