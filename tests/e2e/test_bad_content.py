"""Transcripts and archive files of odd contents: kept, counted, shown as UTF-8, or refused by their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.commands import run, run_all
from tests.e2e.odd import (
    INSTANTS,
    ODD_LINES,
    READABLE_INSTANTS,
    REFUSED_LINES,
    REFUSED_MANIFESTS,
    archive,
    conversation,
    event,
    hits,
    line,
    prompt,
    skipped,
    texts,
    transcripts,
    with_field,
)
from tests.e2e.states import standing
from tests.kit import World


@pytest.fixture
def world(quick_path: Path) -> World:
    return World(quick_path)


def test_odd_lines_are_kept_counted_and_shown_as_utf8_everywhere(world: World) -> None:
    for name, (data, _) in ODD_LINES.items():
        (transcripts(world) / f"{name}.jsonl").write_bytes(data)
    other = {"ATRIUM_STATE": str(world.base / "other")}
    path = str(world.work / "all.jsonl")
    captured, found, context, plain, written, status = run_all(
        world,
        [
            ["capture", "--json"],
            ["search", "--all", "--json", "--limit", "100", "sluice"],
            ["context", "--json", "--limit", "50", "sluice"],
            ["search", "--all", "sluice", "--limit", "100"],
            ["export", path],
            ["status", "--json"],
        ],
    )
    assert texts(found) == set().union(*(expected for _, expected in ODD_LINES.values()))
    counts = skipped(captured)
    assert counts["line nests too deeply"] == counts["line is not UTF-8"] == 2
    assert counts["timestamp that can't be read"] >= len(INSTANTS) - READABLE_INSTANTS
    evidence = context.document()["evidence"]
    assert isinstance(evidence, list)
    assert len(evidence) > 10
    assert not {b"\x1b", b"\0"} & {bytes([byte]) for byte in plain.ok().out}
    written.ok()
    for said in run_all(world, [["show", str(hit["record_id"]), "--json"] for hit in hits(found)]):
        assert said.document()["schemaVersion"] == 1
    ingested, again = run_all(world, [["ingest", path], ["status", "--json"]], env=other)
    ingested.ok()
    assert again.document()["digest"] == status.document()["digest"]


def test_a_half_line_is_taken_once_it_is_whole(world: World) -> None:
    path = transcripts(world) / "a.jsonl"
    whole = line(prompt("u1", "the first sluice")) + line(prompt("u2", "the second sluice"))
    path.write_bytes(whole[:-9])
    assert run(world, "capture", "--json").document()["events"] == 1
    path.write_bytes(whole)
    captured, found = run_all(world, [["capture", "--json"], ["search", "--all", "--json", "sluice"]])
    assert captured.document()["events"] == 1
    assert texts(found) == {"the first sluice", "the second sluice"}


def test_a_bad_archive_is_refused_by_its_line_and_changes_nothing(world: World) -> None:
    good = archive(world.work / "good.jsonl", [conversation("good")])
    bad: dict[Path, str] = {}
    for name, data in REFUSED_LINES.items():
        path = world.work / f"line {name}.jsonl"
        bad[archive(path, [conversation("before"), data, conversation("behind")])] = f"line 3 of {path.name}"
    for name, changes in REFUSED_MANIFESTS.items():
        path = world.work / f"manifest {name}.jsonl"
        bad[archive(path, [conversation("before")], **changes)] = path.name
    whole = archive(world.work / "whole.jsonl", [conversation("before")]).read_bytes()
    for name, data in (("cut", whole[:-20]), ("empty", b""), ("mark", b"\xef\xbb\xbf" + whole)):
        (world.work / f"{name}.jsonl").write_bytes(data)
        bad[world.work / f"{name}.jsonl"] = f"{name}.jsonl"
    run(world, "ingest", str(good)).ok()
    before = standing(world)
    refusals = run_all(world, [["ingest", str(path)] for path in bad])
    for said, named in zip(refusals, bad.values(), strict=True):
        said.refused(2, named, "hint: ")
    assert standing(world) == before
    assert not list((world.state / "canonical" / "segments").rglob("*.zst"))


def test_an_archive_of_odd_texts_is_taken_in(world: World) -> None:
    timed = [event(f"e{n}", f"time {n} sluice", timestamp=at) for n, at in enumerate(INSTANTS)]
    odd = archive(
        world.work / "odd.jsonl",
        [
            conversation("surrogate", title="\ud800", events=[event("e1", "a lone \udfff sluice")]),
            conversation("nul", events=[event("e1", "a nul\0 sluice")]),
            conversation("times", startedAt=INSTANTS[5], updatedAt=INSTANTS[6], events=timed),
            with_field("title", b'"the last one counts"') + b"\r",
        ],
    )
    search = ["search", "--all", "sluice", "--limit", "99"]
    ingested, found, *others = run_all(
        world, [["ingest", str(odd)], [*search, "--json"], search, ["export", "out.jsonl"], ["doctor"]]
    )
    ingested.ok()
    expected = {f"time {n} sluice" for n in range(len(INSTANTS))}
    assert texts(found) == {*expected, "a lone \ufffd sluice", "a nul\0 sluice", "the sluice"}
    assert all(said.rc == 0 for said in others)
