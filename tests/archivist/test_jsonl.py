"""Lines of JSON read incrementally: whatever the bytes are, and however the file was cut into runs."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from archivist import jsonl
from archivist.providers import PROVIDERS, Cursor, Source, SourceUnreadable
from tests.archivist.providers.samples import (
    CLAUDE_MORE,
    CLAUDE_RECORDS,
    SESSION,
    Reading,
    line,
    lines,
    read_file,
    source_of,
    typed,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{SESSION}.jsonl"


def read(path: Path, cursor: Cursor | None = None) -> Reading:
    return read_file("claude-code", path, cursor)


def texts(reading: Reading) -> list[str]:
    return [event.text for event in reading.events]


# Lines


def test_only_a_line_feed_ends_a_line(path: Path) -> None:
    path.write_bytes(line(typed("u1", "one\u2028two\u2029three\u0085four")) + line(typed("u2", "five")))
    assert texts(read(path)) == ["one\u2028two\u2029three\u0085four", "five"]


def test_carriage_returns_and_blank_lines_are_nothing(path: Path) -> None:
    data = lines([typed("u1", "one"), typed("u2", "two")]).replace(b"\n", b"\r\n\n   \r\n")
    path.write_bytes(data)
    reading = read(path)
    assert texts(reading) == ["one", "two"]
    assert not reading.skipped
    assert reading.cursor.offset == len(data)


def test_an_empty_file_has_no_events_and_is_not_read_again(path: Path) -> None:
    path.touch()
    reading = read(path)
    assert reading.events == []
    assert read(path, reading.cursor).increments == []


def test_a_half_written_last_line_waits_for_its_end(path: Path) -> None:
    whole, second = line(typed("u1", "one")), line(typed("u2", "two"))
    path.write_bytes(whole + second[:40])
    first = read(path)
    assert texts(first) == ["one"]
    assert first.cursor.offset == len(whole)
    assert read(path, first.cursor).increments == []
    path.write_bytes(whole + second)
    then = read(path, first.cursor)
    assert texts(then) == ["two"]
    assert then.increments[0].rewritten is False


def test_a_file_of_half_a_line_is_known_until_it_changes(path: Path) -> None:
    path.write_bytes(b'{"type":"us')
    reading = read(path)
    assert (reading.events, reading.cursor.offset) == ([], 0)
    assert read(path, reading.cursor).increments == []
    path.write_bytes(line(typed("u1", "one")))
    then = read(path, reading.cursor)
    assert texts(then) == ["one"]
    assert then.increments[0].rewritten is False


def test_a_whole_last_record_needs_no_line_feed(path: Path) -> None:
    data = line(typed("u1", "one")) + line(typed("u2", "two"))
    path.write_bytes(data[:-1])
    reading = read(path)
    assert texts(reading) == ["one", "two"]
    path.write_bytes(data + line(typed("u3", "three")))
    assert texts(read(path, reading.cursor)) == ["three"]


def test_records_that_share_a_line_are_both_read(path: Path) -> None:
    path.write_bytes(line(typed("u1", "one"))[:-1] + b" " + line(typed("u2", "two")))
    assert texts(read(path)) == ["one", "two"]


# Bytes that are no record


@pytest.mark.parametrize(
    ("bad", "reason", "kept"),
    [
        (b'{"type":"user"', jsonl.NOT_JSON, '{"type":"user"'),
        (b"massive error", jsonl.NOT_JSON, "massive error"),
        (b'{"type":"us\xffer"}', jsonl.NOT_UTF8, '{"type":"us\ufffder"}'),
        (b'{"type":"us\0er"}', jsonl.NOT_JSON, '{"type":"us\ufffder"}'),
        (b"42", jsonl.NOT_OBJECT, "42"),
        (b"[1]", jsonl.NOT_OBJECT, "[1]"),
        (b"[" * 100_000, jsonl.TOO_DEEP, "[" * 100_000),
    ],
    ids=["cut", "prose", "utf8", "nul", "number", "list", "deep"],
)
def test_a_line_that_is_no_record_is_counted_and_kept(path: Path, bad: bytes, reason: str, kept: str) -> None:
    path.write_bytes(line(typed("u1", "one")) + bad + b"\r\n" + line(typed("u2", "two")))
    reading = read(path)
    assert texts(reading) == ["one", kept, "two"]
    broken = reading.events[1]
    assert (broken.kind, broken.role, broken.source_id) == ("metadata", "unknown", SESSION)
    assert reading.skipped == {reason: 1}


def test_bytes_that_were_never_written_are_counted_and_the_record_after_them_is_read(path: Path) -> None:
    path.write_bytes(b"\0" * 5000 + line(typed("u1", "one")) + b"\0\0\0\n" + line(typed("u2", "two")))
    reading = read(path)
    assert texts(reading) == ["one", "two"]
    assert reading.skipped == {jsonl.NUL_BYTES: 2}


def test_a_byte_order_mark_is_no_part_of_the_record(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + line(typed("u1", "one")))
    assert texts(read(path)) == ["one"]


def test_half_a_character_pair_is_replaced(path: Path) -> None:
    path.write_bytes(line(typed("u1", "a MARK b")).replace(b"MARK", b"\\ud83d"))
    reading = read(path)
    assert texts(reading) == ["a \ufffd b"]
    assert not reading.skipped


def test_a_record_with_a_field_of_another_type_keeps_its_other_fields(path: Path) -> None:
    path.write_bytes(lines([typed("u1", "one", cwd=7, isMeta="no"), {"type": 3}]))
    reading = read(path)
    assert reading.said() == [("message", "user", "one")]
    assert reading.skipped == {"record without a type": 1}


def test_broken_lines_have_ids_by_their_place_among_equals(path: Path) -> None:
    path.write_bytes(b"x\ny\n")
    first, second = (event.raw_id for event in read(path).events)
    path.write_bytes(b"changed\ny\n")
    again, _ = (event.raw_id for event in read(path).events)
    assert first == again != second


# Large


def test_a_record_over_the_limit_is_kept_as_its_beginning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "RECORD_BYTES_MAX", 5000)
    monkeypatch.setattr(jsonl, "KEPT_BYTES", 100)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)
    large = line(typed("u1", "x" * 6000))
    path.write_bytes(large + line(typed("u2", "two")) + large[:4000])
    reading = read(path)
    kept, two = texts(reading)
    assert kept == f"{large[:100].decode()}\n[TRUNCATED: record over 64 MiB]"
    assert two == "two"
    assert reading.skipped == {jsonl.OVERSIZED: 1}
    assert reading.cursor.offset == len(large) + len(line(typed("u2", "two")))
    assert reading.cursor.lines == 2


def test_a_line_that_goes_on_and_on_is_read_once_and_its_beginning_kept_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "RECORD_BYTES_MAX", 5000)
    monkeypatch.setattr(jsonl, "KEPT_BYTES", 100)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(jsonl, "INCREMENT_BYTES", 2000)
    path.write_bytes(b"x" * 20_000)
    reading = read(path)
    assert len(texts(reading)) == 1
    assert [made.bytes_read for made in reading.increments] == [6000, *[2000] * 7]
    assert reading.cursor.is_inside_line
    with path.open("ab") as stream:
        stream.write(b"x" * 3000 + b"\n" + line(typed("u2", "two")))
    more = read(path, reading.cursor)
    assert texts(more) == ["two"]
    assert sum(made.bytes_read for made in more.increments) == path.stat().st_size - 20_000
    assert (more.cursor.lines, more.cursor.is_inside_line) == (2, False)


def test_a_hole_of_ten_gigabytes_is_passed_over(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(line(typed("u1", "one")))
        stream.truncate(10_000_000_000)
        stream.seek(0, 2)
        stream.write(b"\n" + line(typed("u2", "two")))
    reading = read(path)
    assert [event.text for event in reading.events if event.kind == "message"] == ["one", "two"]
    assert reading.skipped == {jsonl.OVERSIZED: 1}
    assert reading.cursor.offset == path.stat().st_size


def test_a_record_at_the_limit_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = line(typed("u1", "x" * 6000))
    monkeypatch.setattr(jsonl, "RECORD_BYTES_MAX", len(record) - 1)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)
    path.write_bytes(record)
    assert texts(read(path)) == ["x" * 6000]


def test_a_line_of_100_mb_takes_no_more_memory_than_a_record_may(path: Path) -> None:
    with path.open("wb") as stream:
        stream.write(b'{"type":"user"')
        stream.seek(100_000_000)
        stream.write(b"\n" + line(typed("u2", "two")))
    tracemalloc.start()
    try:
        reading = read(path)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reading.events[-1].text == "two"
    assert reading.events[0].text.endswith("[TRUNCATED: record over 64 MiB]")
    assert peak_bytes < jsonl.RECORD_BYTES_MAX + 16 * jsonl.MIB


def test_a_large_file_comes_in_increments_that_can_each_be_gone_on_from(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "INCREMENT_BYTES", 2000)
    path.write_bytes(lines([typed(f"u{n}", f"say {n}") for n in range(50)]))
    whole = read(path)
    found = path.stat()
    assert len(whole.increments) > 3
    assert sum(increment.bytes_read for increment in whole.increments) == found.st_size
    done = 0
    for increment in whole.increments:
        assert increment.bytes_read < 3000
        done += len(increment.events)
        rest = read(path, increment.cursor)
        assert rest.events == whole.events[done:]
        complete = (increment.cursor.size_bytes, increment.cursor.modified_ns) == (
            found.st_size,
            found.st_mtime_ns,
        )
        assert complete is (increment is whole.increments[-1])


# Files that change


@pytest.mark.parametrize("change", ["cut", "head", "tail"])
def test_a_file_that_did_not_merely_grow_is_read_from_its_start(path: Path, change: str) -> None:
    records = [typed(f"u{n}", f"say {n} " + "x" * 700) for n in range(20)]
    path.write_bytes(lines(records))
    cursor = read(path).cursor
    changed = {
        "cut": records[:3],
        "head": [typed("u0", "else"), *records[1:], typed("u20", "more" * 500)],
        "tail": [*records[:-1], typed("u19", "else" * 500)],
    }[change]
    path.write_bytes(lines(changed))
    reading = read(path, cursor)
    assert reading.events == read(path).events
    assert all(increment.rewritten for increment in reading.increments)


def test_a_copy_of_the_file_goes_on_where_the_original_was(path: Path, tmp_path: Path) -> None:
    path.write_bytes(lines(CLAUDE_RECORDS))
    cursor = read(path).cursor
    copied = tmp_path / "copied"
    shutil.copy(path, copied)
    with copied.open("ab") as stream:
        stream.write(lines(CLAUDE_MORE))
    copied.replace(path)
    reading = read(path, cursor)
    assert texts(reading) == ["then free some space", "Done."]
    assert reading.increments[0].rewritten is False


def test_a_touched_file_gives_a_new_cursor_and_nothing_else(path: Path) -> None:
    path.write_bytes(lines(CLAUDE_RECORDS))
    cursor = read(path).cursor
    os.utime(path, ns=(1, 1))
    reading = read(path, cursor)
    (increment,) = reading.increments
    assert (increment.events, increment.rewritten, increment.bytes_read) == ([], False, 0)
    assert read(path, increment.cursor).increments == []


def test_a_file_cut_short_while_it_is_read_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(lines([typed(f"u{n}", f"say {n}") for n in range(50)]))
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 1000)
    pread, cut = os.pread, path.stat().st_size // 2

    def cutting(descriptor: int, count: int, offset: int) -> bytes:
        if offset >= cut:
            os.truncate(path, cut)
        return pread(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", cutting)
    reading = read(path)
    assert 0 < len(reading.events) < 50
    assert reading.cursor.modified_ns == 0
    again = read(path, reading.cursor)
    assert again.cursor.modified_ns == path.stat().st_mtime_ns


def test_what_grows_while_it_is_read_is_left_for_the_next_run(path: Path) -> None:
    path.write_bytes(lines(CLAUDE_RECORDS))
    source = source_of("claude-code", path)
    running = PROVIDERS["claude-code"].read(source, None)
    reading = Reading().add([next(running)])
    with path.open("ab") as stream:
        stream.write(lines(CLAUDE_MORE))
    reading.add(running)
    reading.add(read(path, reading.cursor).increments)
    assert reading.events == read(path).events


def test_a_clock_in_1970_changes_nothing(path: Path) -> None:
    path.write_bytes(lines(CLAUDE_RECORDS))
    os.utime(path, ns=(0, 0))
    reading = read(path)
    assert read(path, reading.cursor).increments == []
    assert len(reading.events) == 6


# What is no file


def source_at(path: Path) -> Source:
    return Source(
        provider="claude-code", path=path, relative_path=path.name, size_bytes=1, modified_ns=1, inode=1
    )


def test_a_pipe_in_the_files_place_is_refused_without_waiting(path: Path) -> None:
    os.mkfifo(path)
    assert list(PROVIDERS["claude-code"].sources(path.parent)) == []
    with pytest.raises(SourceUnreadable, match="is not a regular file"):
        list(PROVIDERS["claude-code"].read(source_at(path), None))


def test_a_directory_in_the_files_place_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(SourceUnreadable, match="is not a regular file"):
        list(PROVIDERS["claude-code"].read(source_at(path), None))


def test_a_file_that_may_not_be_read_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(SourceUnreadable, match=rf"{path.name} can't be opened: Permission denied"):
        list(PROVIDERS["claude-code"].read(source_at(path), None))


@pytest.mark.parametrize("provider", ["claude-code", "codex", "generic"])
def test_a_file_name_that_is_no_unicode_makes_ids_that_are(tmp_path: Path, provider: str) -> None:
    odd = tmp_path / os.fsdecode(b"rollout-caf\xe9.jsonl")
    odd.write_bytes(b"prose\n")
    reading = read_file(provider, odd)
    assert b"caf" in msgspec.json.encode(reading.cursor)
    assert msgspec.json.encode(reading.events)
