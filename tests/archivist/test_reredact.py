"""A newer redactor over an archive: what changes, what stays, which clock it keeps, what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zstandard

from archivist import reredact as module
from archivist.reredact import REASON, RedactReport, redacted_again, reredact
from crdt.archive import Archive, decode_fragment
from crdt.errors import DiskFull
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Segment
from crdt.union import union
from tests.retrieval.follow_kit import Kept, body_of, contents

SECRET = "heron"


class Newer:
    """A redactor of version 7 that knows one word."""

    version = 7

    def redact(self, text: str) -> tuple[str, int]:
        """Take the word out."""
        return text.replace(SECRET, "[REDACTED:bird]"), text.count(SECRET)


def event(name: str, place: int, text: str) -> Event:
    """Make a user's message."""
    return Event(
        id=event_id(conversation_id("codex", name), f"m{place}"),
        kind=Kind.MESSAGE,
        role=Role.USER,
        text=text,
        seq=place,
        timestamp=f"2026-03-01T08:00:{place:02d}.000Z",
    )


def fragment(name: str, texts: Sequence[str], first: int = 0, **more: object) -> Fragment:
    """Make a fragment of an older redactor."""
    made = Fragment(
        conversation_id=conversation_id("codex", name),
        source="codex",
        source_id=name,
        origin=Origin.CAPTURE,
        relative_path=f"{name}.jsonl",
        redactor_version=1,
        events=[event(name, first + place, text) for place, text in enumerate(texts)],
    )
    return msgspec.structs.replace(made, **more)


def run(archive: Archive, *, apply: bool = True) -> RedactReport:
    """Run the newer redactor."""
    return reredact(archive, Newer(), apply=apply, on_progress=lambda _done, _total: None)


def held(archive: Archive) -> dict[str, int]:
    """Give the fragments in the current segments with their clocks."""
    current = archive.current()
    return {
        stored.sha256: stored.hlc
        for logged in archive.log.since(0)
        if isinstance(logged.manifest, Segment) and logged.manifest.sha256 in current
        for stored, _ in archive.load(logged)
    }


def served(kept: Kept, name: str) -> list[str]:
    """List the texts of a conversation as they are served from the archive."""
    row = kept.catalog.find(conversation_id("codex", name))
    assert row is not None
    return [item.text for item in union(kept.catalog.fragments(row)).conversation.events]


def everything(kept: Kept) -> bytes:
    """Read every byte of the archive, segments as they are before compression."""
    found = []
    for path in sorted(kept.root.rglob("*")):
        if path.is_file() and "index" not in path.name:
            data = path.read_bytes()
            reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
            found.append(reader.read() if path.suffix == ".zst" else data)
    return b"".join(found)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """Give an empty archive."""
    with closing(Kept(tmp_path)) as made:
        yield made


def test_every_text_of_a_fragment_is_redacted_and_counted_by_event() -> None:
    given = fragment(
        "reed",
        [f"a {SECRET}", "a reed", f"{SECRET} {SECRET}"],
        title=f"The {SECRET}",
        workspace=f"/srv/{SECRET}",
        relative_path=f"{SECRET}.jsonl",
        redactions={event("reed", 2, "").id: 5},
    )
    again, count = redacted_again(Newer(), given)
    assert [item.text for item in again.events] == [
        "a [REDACTED:bird]", "a reed", "[REDACTED:bird] [REDACTED:bird]",
    ]  # fmt: skip
    assert (again.title, again.workspace) == ("The [REDACTED:bird]", "/srv/[REDACTED:bird]")
    assert again.relative_path == "[REDACTED:bird].jsonl"
    assert (count, again.redactor_version) == (6, 7)
    assert again.redactions == {event("reed", 0, "").id: 1, event("reed", 2, "").id: 7}
    assert redacted_again(Newer(), again) == (again, 0)


def test_a_dry_run_counts_and_writes_nothing(kept: Kept) -> None:
    kept.append(fragment("reed", [f"a {SECRET}", "a reed"]))
    kept.append(fragment("pier", ["a pier"]), seal=True)
    before = kept.archive.log.head(), kept.archive.log.tails(), list(kept.archive.segments.names())
    report = run(kept.archive, apply=False)
    assert (report.fragments, report.changed, report.redactions, report.segments) == (2, 1, 1, 0)
    assert report.conversations == {conversation_id("codex", "reed")}
    assert (kept.archive.log.head(), kept.archive.log.tails(), list(kept.archive.segments.names())) == before


def test_what_an_older_redactor_let_through_is_gone_from_the_archive(kept: Kept) -> None:
    kept.append(fragment("reed", [f"a {SECRET}"]))
    kept.append(fragment("weir", [f"two {SECRET}s"]), seal=True)
    report = run(kept.archive)
    kept.archive.log.fold()
    assert (report.changed, report.segments) == (2, 2)
    assert SECRET.encode() not in everything(kept)
    kept.follow()
    assert served(kept, "reed") == ["a [REDACTED:bird]"]
    with kept.rebuilt() as fresh:
        assert contents(kept)["records"] == contents(fresh)["records"]


def test_segments_without_a_finding_stay_and_the_other_s_fragments_keep_their_bytes(kept: Kept) -> None:
    kept.append(fragment("pier", ["a pier"]), seal=True)
    (untouched,) = kept.archive.current()
    plain = fragment("mill", ["a mill"])
    kept.append(plain, fragment("reed", [f"a {SECRET}"]), seal=True)
    run(kept.archive)
    assert untouched in kept.archive.current()
    assert body_of(plain).sha256 in held(kept.archive)


def test_a_fragment_keeps_the_clock_of_its_first_manifest(kept: Kept) -> None:
    kept.append(fragment("reed", [f"a {SECRET}"]))
    kept.append(fragment("weir", [f"two {SECRET}s"]), seal=True)
    clocks = sorted(logged.hlc for logged in kept.archive.log.since(0))
    run(kept.archive)
    assert sorted(held(kept.archive).values()) == clocks


def test_again_it_has_nothing_to_do(kept: Kept) -> None:
    kept.append(fragment("reed", [f"a {SECRET}"]), seal=True)
    run(kept.archive)
    head, names = kept.archive.log.head(), list(kept.archive.segments.names())
    report = run(kept.archive)
    assert (report.changed, report.segments) == (0, 0)
    assert (kept.archive.log.head(), list(kept.archive.segments.names())) == (head, names)


def test_a_correction_is_not_undone_by_redacting_what_it_corrected(kept: Kept) -> None:
    kept.append(fragment("reed", [f"the {SECRET} sleeps", "a reed"]), seal=True)
    kept.append(fragment("reed", ["the bird sleeps"]), seal=True)
    kept.follow()
    assert served(kept, "reed") == ["the bird sleeps", "a reed"]
    assert run(kept.archive).changed == 1
    kept.follow()
    assert served(kept, "reed") == ["the bird sleeps", "a reed"]


def test_a_version_of_a_later_redactor_stays_as_it_is(kept: Kept) -> None:
    later = fragment("reed", ["the bird"], redactor_version=8)
    kept.append(fragment("reed", [f"the {SECRET}"]), seal=True)
    kept.append(later, seal=True)
    run(kept.archive)
    assert body_of(later).sha256 in held(kept.archive)


def test_only_what_changed_changes_in_the_index(kept: Kept) -> None:
    kept.append(fragment("reed", [f"a {SECRET}", "a reed"]), fragment("pier", ["a pier"]), seal=True)
    digest = "SELECT hex(record_id), hex(content_sha256) FROM records"
    before = dict(kept.index.connection.execute(digest).fetchall())
    run(kept.archive)
    kept.follow()
    after = dict(kept.index.connection.execute(digest).fetchall())
    assert before.keys() == after.keys()
    assert sum(before[name] != after[name] for name in before) == 1


def test_files_that_nothing_names_are_erased_first(kept: Kept) -> None:
    kept.archive.stage([body_of(fragment("reed", [f"never named {SECRET}"]))])
    run(kept.archive)
    assert list(kept.archive.segments.names()) == []


def test_a_failure_while_segments_are_made_leaves_the_archive_as_it_was(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        kept.append(fragment(f"s{number}", [f"a {SECRET}"]), seal=True)
    before = kept.archive.log.head(), list(kept.archive.segments.names())
    stage, calls = kept.archive.stage, iter((True, True, False))

    def failing(*given: object, **more: object) -> Segment:
        if not next(calls):
            raise DiskFull("no space left")
        return stage(*given, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(kept.archive, "stage", failing)
        with pytest.raises(DiskFull):
            run(kept.archive)
    assert (kept.archive.log.head(), list(kept.archive.segments.names())) == before
    assert run(kept.archive).segments == 3


def test_a_crash_before_the_old_files_are_erased_is_completed_by_the_next_run(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.append(fragment("reed", [f"a {SECRET}"]), seal=True)

    def fail(_sha256: str) -> None:
        raise DiskFull("killed")

    with monkeypatch.context() as patch:
        patch.setattr(kept.archive.segments, "remove", fail)
        with pytest.raises(DiskFull):
            run(kept.archive)
    assert SECRET.encode() in everything(kept)
    assert run(kept.archive).changed == 0
    kept.archive.log.fold()
    assert SECRET.encode() not in everything(kept)
    kept.follow()
    assert served(kept, "reed") == ["a [REDACTED:bird]"]


def test_the_log_says_why(kept: Kept) -> None:
    kept.append(fragment("reed", [f"a {SECRET}"]), seal=True)
    assert kept.archive.newest_generation(REASON) == 0
    run(kept.archive)
    assert kept.archive.newest_generation(REASON) == kept.archive.log.head()


def test_what_grows_beyond_two_segments_is_cut(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    fragments = [fragment(f"s{number}", [f"a {SECRET}"]) for number in range(5)]
    kept.append(*fragments, seal=True)
    monkeypatch.setattr(module, "SEGMENT_BYTES_MAX", len(body_of(fragments[0]).data))
    run(kept.archive)
    sizes = sorted(len(segment.fragments) for segment in kept.archive.current().values())
    assert sum(sizes) == 5
    assert len(sizes) > 2


def test_progress_is_told_for_every_manifest(kept: Kept) -> None:
    for number in range(3):
        kept.append(fragment(f"s{number}", ["plain"]), seal=True)
    told: list[tuple[int, int]] = []
    reredact(kept.archive, Newer(), apply=False, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert decode_fragment(body_of(fragment("x", ["plain"])).data).redactor_version == 1
