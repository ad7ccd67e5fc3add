"""The versions of `canonical/feeds.db`, a list that only grows.

`user_version` says how many have been applied, so that a store of today opens without the library that
applies them: importing it costs more than a whole search.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from crdt.errors import Unavailable
from crdt.sqlite import transaction

if TYPE_CHECKING:
    from sqlite_utils import Database

VERSION = 1

_CREATE_MANIFESTS = """
CREATE TABLE manifests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    hlc INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT
"""
_CREATE_TAILS = """
CREATE TABLE tails (
    sha256 BLOB NOT NULL UNIQUE,
    hlc INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT
"""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an open store to the newest version in one transaction, once, however many open it together.

    Raises `Unavailable` for a store that a newer program made.
    """
    if version_of(connection) == VERSION:
        return
    from sqlite_utils import Database, Migrations

    steps = Migrations("feeds")

    @steps()
    def manifests_and_tails(database: Database) -> None:
        database.conn.execute(_CREATE_MANIFESTS)
        database.conn.execute(_CREATE_TAILS)

    database = Database(connection)
    with transaction(connection):
        if version_of(connection) < VERSION:
            steps.apply(database)
            connection.execute(f"PRAGMA user_version = {VERSION}")


def version_of(connection: sqlite3.Connection) -> int:
    """Tell the version of a store, 0 for one that is not made yet; raises `Unavailable` for a newer one."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > VERSION:
        raise Unavailable(
            f"the archive is of version {found}, this program knows {VERSION}", hint="update this program"
        )
    return found
