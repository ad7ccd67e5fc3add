"""Versions of the store: made once and whole, opened without the library that makes them."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from crdt import migrations
from crdt.clock import pack
from crdt.entries import Draft, EntryKind, is_signed
from crdt.errors import Damaged, OlderVersion, Unavailable
from crdt.manifests import Manifest, Segment, Supersede, Tail, Tombstone
from crdt.segments import Body
from crdt.sqlite import open_writer
from crdt.store import open_store
from tests.crdt.logs import open_feeds, open_log
from tests.crdt.older_store import make_older_store
from tests.crdt.samples import bodies
from tests.crdt.signers import SeedSigner
from tests.kit import CHECKOUT

TABLES = "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE '%sqlite_%'"
OPEN = """
import sys
from pathlib import Path
from crdt.store import open_store
open_store(Path(sys.argv[1]), writable=True).close()
print("sqlite_utils" in sys.modules)
"""


def test_a_new_store_has_the_strict_tables_and_their_version(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as connection:
        migrations.migrate(connection)
        assert migrations.version_of(connection) == migrations.VERSION
        found = dict(connection.execute(TABLES).fetchall())
    assert found == dict.fromkeys(("feeds", "entries", "openings", "pending", "tails", "wanted"), 1)


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as connection:
        migrations.migrate(connection)
        connection.execute("INSERT INTO tails (sha256, hlc, body) VALUES (x'', 1, x'')")
        before = connection.execute("SELECT * FROM sqlite_schema").fetchall()
        migrations.migrate(connection)
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == before
        assert connection.execute("SELECT count(*) FROM tails").fetchone() == (1,)


def test_a_migration_that_fails_leaves_an_empty_store_that_the_next_one_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_writer(tmp_path / "feeds.db", durable=True)) as connection:
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "_CREATE_TAILS", "CREATE TABLE tails (no such syntax")
            with pytest.raises(sqlite3.OperationalError):
                migrations.migrate(connection)
        assert connection.execute("SELECT * FROM sqlite_schema").fetchall() == []
        assert migrations.version_of(connection) == 0
        migrations.migrate(connection)
        assert migrations.version_of(connection) == migrations.VERSION


def test_only_the_first_opening_imports_the_library_that_migrates(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(tmp_path / "feeds.db")]
    said = [
        subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=30).stdout
        for _ in range(2)
    ]
    assert said == ["True\n", "False\n"]


def test_a_store_of_a_newer_program_is_refused_to_readers_and_writers(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    open_store(path, writable=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
    for writable in (True, False):
        with pytest.raises(Unavailable, match=r"version \d, this program knows \d") as caught:
            open_store(path, writable=writable)
        assert caught.value.hint == "update this program"


def test_a_store_of_version_2_keeps_its_entries_and_notes_openings_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    with closing(open_feeds(path)) as store:
        store.home()
        before = list(store.entries())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE openings")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = 'openings'")
        connection.execute("PRAGMA user_version = 2")
    with closing(open_feeds(path)) as store:
        assert list(store.entries()) == before
        assert store.opening(before[-1].id) == b""
        (added,) = store.write([Draft(space=store.home(), kind=EntryKind.RECORD, body=b"x")])
        assert len(store.opening(added.id)) == 16
        assert store.opening(before[-1].id) == b""


Said = list[tuple[int, Manifest, Sequence[Body]]]
NAME = "5" * 64
LAST_YEAR_MS = 1_750_000_000_000


def sha(body: Body) -> bytes:
    return bytes.fromhex(body.sha256)


def history() -> Said:
    """Say every kind of manifest: three fragments waited, two of them were sealed."""
    made = bodies(3)
    clocks = [pack(LAST_YEAR_MS), pack(LAST_YEAR_MS, 1), pack(LAST_YEAR_MS + 5), pack(LAST_YEAR_MS + 5, 1)]
    sealed = [(sha(body), clocks[0]) for body in made[:2]]
    segment = Segment(sha256=NAME, size_bytes=1, stored_bytes=1, fragments=sealed)
    return [
        (clocks[0], Tail(fragments=[sha(body) for body in made]), made),
        (clocks[1], segment, []),
        (clocks[2], Supersede(replaced=["1" * 64], by=[NAME], reason="merged"), []),
        (clocks[3], Tombstone(removed=["2" * 64], revived=["3" * 64]), []),
    ]


def test_an_older_store_is_signed_and_keeps_every_place_and_clock(tmp_path: Path) -> None:
    path, said = tmp_path / "feeds.db", history()
    make_older_store(path, said)
    with closing(open_log(path)) as log:
        found = [(item.seq, item.hlc, item.manifest) for item in log.since(0)]
        assert found == [(place, hlc, manifest) for place, (hlc, manifest, _) in enumerate(said, 1)]
        waiting = said[0][2][2]
        assert log.tails() == [(sha(waiting), said[0][0], len(waiting.data))]
        assert log.tail_body(sha(waiting)) == waiting.data
        store = log.store
        entries = {item.id: item.entry for item in store.entries()}
        assert sorted(entries) == [1, 2, 3, 4, 5, 6]
        assert all(is_signed(entry) for entry in entries.values())
        assert (entries[5].hash, entries[6].hash) == (store.home(), store.private())
        assert entries[5].hlc == entries[6].hlc == said[0][0] - 1
        (home,) = store.heads(store.home())
        assert (home.seq, home.count, home.head) == (5, 5, entries[4].hash)
        assert [entry.seq for entry in store.feed_entries(home.feed)] == [1, 2, 3, 4, 5]
        (later,) = log.append([Tombstone()])
        assert later.seq == 7
        assert later.hlc > said[-1][0]
    with closing(open_log(path, writable=False)) as reader:
        assert [item.seq for item in reader.since(0)] == [1, 2, 3, 4, 7]


def test_a_manifest_too_large_for_an_entry_is_said_in_several_with_the_same_effect(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    names = [f"{number:064x}" for number in range(9_000)]
    before, after = pack(LAST_YEAR_MS), pack(LAST_YEAR_MS, 1)
    make_older_store(
        path, [(before, Tombstone(removed=names), []), (after, Tombstone(revived=names[:1]), [])]
    )
    with closing(open_log(path)) as log:
        logged = list(log.since(0))
        assert [item.seq for item in logged[:2]] == [1, 2]
        assert [name for item in logged for name in getattr(item.manifest, "removed", [])] == names
        in_order = sorted(logged, key=lambda item: item.hlc)
        assert isinstance(in_order[-1].manifest, Tombstone)
        assert in_order[-1].manifest.revived == names[:1], "what was said last is last by the clock"
        (head,) = log.store.heads(log.store.home())
        assert [entry.seq for entry in log.store.feed_entries(head.feed)] == list(range(1, len(logged) + 2))


def test_a_store_without_manifests_has_no_space_yet(tmp_path: Path) -> None:
    make_older_store(tmp_path / "feeds.db", [])
    with closing(open_log(tmp_path / "feeds.db")) as log:
        assert list(log.store.entries()) == []


def test_a_reader_of_an_older_store_is_told_what_brings_it_up_to_date(tmp_path: Path) -> None:
    make_older_store(tmp_path / "feeds.db", history())
    with pytest.raises(OlderVersion, match="older version") as caught:
        open_store(tmp_path / "feeds.db", writable=False)
    assert "`atrium up` or `atrium capture`" in caught.value.hint


def test_an_older_store_needs_somebody_who_signs_and_manifests_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "feeds.db"
    make_older_store(path, history())
    with pytest.raises(Unavailable, match="older version"):
        open_store(path, writable=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE manifests SET body = x'c1' WHERE seq = 2")
    with pytest.raises(Damaged, match="manifest 2 of canonical/feeds"):
        open_store(path, writable=True, signer=SeedSigner("node"))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM manifests").fetchone() == (4,)


MIGRATE = """
import sys
from pathlib import Path
from tests.crdt.logs import open_log
print("ready", flush=True)
log = open_log(Path(sys.argv[1]))
print("migrated", flush=True)
sys.stdin.readline()
"""


def test_a_kill_during_the_migration_leaves_the_older_store_or_the_new_one(tmp_path: Path) -> None:
    choose = random.Random(5)  # noqa: S311 - a replayable choice
    said: Said = [
        (pack(LAST_YEAR_MS + number), Tombstone(removed=[f"{number:064x}"]), []) for number in range(600)
    ]
    undisturbed_s = 0.0
    found = set()
    for round_ in range(6):
        path = tmp_path / str(round_) / "feeds.db"
        make_older_store(path, said)
        child = subprocess.Popen(
            [sys.executable, "-c", MIGRATE, str(path)],
            cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        started_s = time.monotonic()
        if round_ == 0:
            assert child.stdout.readline() == "migrated\n"
            undisturbed_s = time.monotonic() - started_s
        else:
            try:
                child.wait(undisturbed_s * choose.uniform(0.2, 1.1))
            except subprocess.TimeoutExpired:
                found.add("killed")
        child.kill()
        child.communicate(timeout=30)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            table = "manifests" if version == 1 else "entries"
            (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        assert (version, count) in ((1, 600), (migrations.VERSION, 602))
        with closing(open_log(path)) as log:
            assert [item.seq for item in log.since(0)] == list(range(1, 601))
    assert found == {"killed"}
