"""The single-file archive: what a reader refuses and names, and a writer that writes all or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crdt import archive_file
from crdt.archive_file import Line, check, lines, read_manifest, write
from crdt.canonical import encode_canonical
from crdt.errors import ArchiveRefused, AtriumError, BadInput, Damaged, DiskFull, NotFound, ReadOnlyState
from crdt.events import ARCHIVE_KIND
from tests.crdt.mounts import can_mount, run_on_small_disk, run_read_only
from tests.kit import CHECKOUT, wait_until

MOMENT = datetime(2026, 1, 5, 9, 30, 0, 123456, tzinfo=UTC)
WRITE_UNTIL_KILLED = """
import sys
from pathlib import Path
from crdt.archive_file import write

def conversations():
    yield b"new"
    print("half", flush=True)
    sys.stdin.readline()
    yield b"never"

write(Path(sys.argv[1]), conversations())
"""


def archive(path: Path, content: bytes, **changes: object) -> Path:
    """Write an archive whose manifest is right, apart from the changes."""
    manifest = {
        "kind": ARCHIVE_KIND,
        "schemaVersion": 2,
        "createdAt": "2026-01-05T09:00:00Z",
        "records": content.count(b"\n"),
        "contentSha256": hashlib.sha256(content).hexdigest(),
        **changes,
    }
    path.write_bytes(json.dumps(manifest).encode() + b"\n" + content)
    return path


def read_all(path: Path) -> list[Line]:
    check(path, read_manifest(path))
    return list(lines(path))


@settings(max_examples=40)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_what_was_written_is_read_back_line_by_line(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("archive") / "a.jsonl"
    conversations = [encode_canonical({"text": text}) for text in texts]
    written = write(path, conversations, created_at=MOMENT)
    manifest = read_manifest(path)
    assert (manifest.records, manifest.content_sha256) == (written.records, written.content_sha256)
    assert manifest.created_at == "2026-01-05T09:30:00.123Z"
    assert (manifest.complete, manifest.skipped, manifest.schema_version) == (True, 0, 2)
    assert check(path, manifest) == path.stat().st_size
    assert [line.data for line in lines(path)] == conversations
    assert [line.number for line in lines(path)] == list(range(2, len(texts) + 2))


def test_the_hash_is_of_every_byte_behind_the_first_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    written = write(path, [b"one", b"two"])
    head, _, rest = path.read_bytes().partition(b"\n")
    assert hashlib.sha256(rest).hexdigest() == written.content_sha256 == json.loads(head)["contentSha256"]
    assert rest == b"one\ntwo\n"


@pytest.mark.parametrize("end", ["\r", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_lines_end_at_a_line_feed_and_nowhere_else(tmp_path: Path, end: str) -> None:
    text = json.dumps({"text": f"a{end}b"}, ensure_ascii=False).encode()
    path = archive(tmp_path / "a.jsonl", text + b"\r\n" + text + b"\n")
    assert [line.data for line in read_all(path)] == [text + b"\r", text]


def test_conversations_that_can_not_be_read_are_counted_and_the_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert write(path, [b"one", None, b"two", None]).records == 2
    manifest = read_manifest(path)
    assert (manifest.complete, manifest.skipped, manifest.records) == (False, 2, 2)


def test_fields_of_other_tools_are_passed_over_and_version_1_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.jsonl", b"x\n", schemaVersion=1, producer="another tool")
    assert read_manifest(path).schema_version == 1
    assert read_all(path) == [Line(number=2, data=b"x")]


def test_an_archive_of_nothing_is_one(tmp_path: Path) -> None:
    assert read_all(archive(tmp_path / "a.jsonl", b"")) == []


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"not json\n",
        b"\xff\xfe\n",
        b"[]\n",
        b'{"kind":"x"}\n',
        b'{"kind":1,"schemaVersion":2,"records":0,"contentSha256":""}\n',
        b" " * (archive_file.MANIFEST_BYTES_MAX + 9) + b"{}\n",
    ],
)
def test_a_first_line_that_is_no_manifest_is_refused(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(head)
    with pytest.raises(ArchiveRefused, match=r"line 1 of a\.jsonl is no manifest"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "something-else"}, "kind 'something-else', not 'rocket-agents-conversation-export'"),
        ({"schemaVersion": 3}, "schemaVersion 3, known are 1 and 2"),
        ({"schemaVersion": 0}, "schemaVersion 0, known are 1 and 2"),
        ({"records": 2}, "a.jsonl has 3 records, its manifest says 2"),
        ({"records": 4}, "a.jsonl has 3 records, its manifest says 4"),
        ({"contentSha256": "0" * 64}, "the hash of a.jsonl is not the one in its manifest"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused_and_says_how(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    path = archive(tmp_path / "a.jsonl", b"a\nb\nc\n", **changes)
    with pytest.raises(ArchiveRefused, match=words) as caught:
        read_all(path)
    assert caught.value.hint


@pytest.mark.parametrize(
    "change",
    [lambda data: data[:-1], lambda data: data + b"d\n", lambda data: data[:-3], lambda data: data.upper()],
)
def test_any_change_behind_the_manifest_is_refused_as_a_wrong_hash(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    content = b"a\nb\nc\n"
    digest = hashlib.sha256(content).hexdigest()
    path = archive(tmp_path / "a.jsonl", change(content), records=3, contentSha256=digest)
    with pytest.raises(ArchiveRefused, match="hash"):
        read_all(path)


def test_a_last_record_without_a_line_end_is_refused_though_its_hash_fits(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.jsonl", b"a\nb", records=2)
    with pytest.raises(ArchiveRefused, match="no line end"):
        check(path, read_manifest(path))
    with pytest.raises(ArchiveRefused, match=r"line 3 of a\.jsonl is longer than .* or cut"):
        list(lines(path))


def test_a_line_beyond_the_limit_is_refused_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "LINE_BYTES_MAX", 10)
    path = archive(tmp_path / "a.jsonl", b"short\n" + b"x" * 10 + b"\n")
    with pytest.raises(ArchiveRefused, match=r"line 3 of a\.jsonl is longer than 10 bytes"):
        list(lines(path))


def test_an_endless_line_is_refused_before_the_rest_of_the_file_is_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "LINE_BYTES_MAX", 3 << 20)
    path = archive(tmp_path / "a.jsonl", b"short\n" + b"x" * (8 << 20))
    ticks: list[None] = []
    with pytest.raises(ArchiveRefused, match=r"line 3 of a\.jsonl is longer"):
        check(path, read_manifest(path), lambda: ticks.append(None))
    assert len(ticks) == 4


def test_a_conversation_that_no_reader_takes_is_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_file, "LINE_BYTES_MAX", 10)
    written = write(tmp_path / "a.jsonl", [b"short", b"x" * 10])
    assert (written.records, written.skipped) == (1, 1)
    assert not read_manifest(tmp_path / "a.jsonl").complete
    assert [line.data for line in read_all(tmp_path / "a.jsonl")] == [b"short"]


def test_a_pipe_is_neither_waited_for_nor_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "a.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match="no regular file"):
        read_manifest(pipe)
    with pytest.raises(BadInput, match="no regular file"):
        write(pipe, [b"one"])
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_manifest_that_nests_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"x":' + b"[" * 30_000 + b"\n")
    with pytest.raises(ArchiveRefused, match="line 1"):
        read_manifest(path)


def test_no_file_a_directory_and_a_closed_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file"):
        read_manifest(tmp_path / "a.jsonl")
    with pytest.raises(BadInput, match="is a directory"):
        read_manifest(tmp_path)
    with pytest.raises(BadInput, match="can't be read"):
        read_manifest(archive(tmp_path / "f", b"") / "below")


def test_a_place_that_can_not_be_written_is_told_before_anything_is_read(tmp_path: Path) -> None:
    def unread() -> Iterator[bytes]:
        raise AssertionError("nothing was to be read")
        yield b""

    with pytest.raises(BadInput, match="is a directory"):
        write(tmp_path, unread())
    with pytest.raises(NotFound, match="is no directory"):
        write(tmp_path / "absent" / "a.jsonl", unread())


def test_the_file_is_private_though_an_open_one_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"old")
    path.chmod(0o666)
    write(path, [b"one"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("error", [Damaged("a fragment"), KeyboardInterrupt(), OSError(28, "full")])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"old")

    def failing() -> Iterator[bytes]:
        yield b"one"
        raise error

    expected = DiskFull if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write(path, failing())
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_writer_killed_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, [b"old"])
    before = path.read_bytes()
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=CHECKOUT,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"half\n"
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=30)
    assert path.read_bytes() == before
    (stray,) = [entry for entry in tmp_path.iterdir() if entry != path]
    write(path, [b"next"])
    assert stray.exists(), "a young one may belong to a writer that is still at work"
    os.utime(stray, (1, 1))
    write(path, [b"last"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]
    assert [line.data for line in read_all(path)] == [b"last"]


def test_two_writers_of_one_file_each_write_their_own(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    begun, go = threading.Event(), threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"slow"
        begun.set()
        assert go.wait(30)
        yield b"slow"

    thread = threading.Thread(target=write, args=(path, slow()))
    thread.start()
    assert begun.wait(30)
    write(path, [b"quick"])
    assert [line.data for line in read_all(path)] == [b"quick"]
    go.set()
    thread.join(30)
    wait_until(lambda: not thread.is_alive(), "the slow writer ended")
    assert [line.data for line in read_all(path)] == [b"slow", b"slow"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


WRITE_MUCH = """
import sys
from pathlib import Path
from crdt.archive_file import write
from crdt.errors import AtriumError
path = Path(sys.argv[1]) / "a.jsonl"
try:
    write(path, (b"x" * 9000 for _ in range(2000)))
except AtriumError as error:
    print(type(error).__name__, error.detail)
print(sorted(entry.name for entry in path.parent.iterdir()))
"""


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    said = run_on_small_disk(tmp_path, "2m", WRITE_MUCH)
    assert said == f"{DiskFull.__name__} no space left while writing a.jsonl\n[]\n"


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a file system")
def test_a_read_only_directory_is_told(tmp_path: Path) -> None:
    said = run_read_only(tmp_path, WRITE_MUCH)
    assert said.startswith(f"{ReadOnlyState.__name__} a.jsonl can't be written")
    assert issubclass(ReadOnlyState, AtriumError)
