"""Stores as the first version of this program made them: manifests as rows, unsigned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from crdt.manifests import Manifest, Segment, Tail
from crdt.segments import Body
from crdt.sqlite import open_writer

_TABLES = (
    """CREATE TABLE manifests (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        hlc INTEGER NOT NULL,
        body BLOB NOT NULL
    ) STRICT""",
    """CREATE TABLE tails (
        sha256 BLOB NOT NULL UNIQUE,
        hlc INTEGER NOT NULL,
        body BLOB NOT NULL
    ) STRICT""",
    """CREATE TABLE "_sqlite_migrations" (
        "id" INTEGER PRIMARY KEY,
        "migration_set" TEXT,
        "name" TEXT,
        "applied_at" TEXT
    )""",
    """CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
        ON "_sqlite_migrations" ("migration_set", "name")""",
    "INSERT INTO _sqlite_migrations VALUES (1, 'feeds', 'manifests_and_tails', '2026-01-01 00:00:00+00:00')",
    "PRAGMA user_version = 1",
)
_ADD_MANIFEST = "INSERT INTO manifests (hlc, body) VALUES (?, ?)"
_ADD_TAIL = "INSERT INTO tails (sha256, hlc, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_DROP_TAIL = "DELETE FROM tails WHERE sha256 = ?"


def make_older_store(path: Path, said: Sequence[tuple[int, Manifest, Sequence[Body]]]) -> None:
    """Make a store of version 1 that holds manifests with their clocks and waiting fragments."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(open_writer(path, durable=True)) as connection:
        for statement in _TABLES:
            connection.execute(statement)
        for hlc, manifest, bodies in said:
            connection.execute(_ADD_MANIFEST, (hlc, msgspec.msgpack.encode(manifest)))
            if isinstance(manifest, Segment):
                connection.executemany(_DROP_TAIL, ((sha256,) for sha256, _ in manifest.fragments))
            if isinstance(manifest, Tail):
                rows = [(bytes.fromhex(body.sha256), hlc, body.data) for body in bodies]
                connection.executemany(_ADD_TAIL, rows)
