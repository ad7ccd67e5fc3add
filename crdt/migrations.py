"""The versions of `canonical/feeds.db`, a list that only grows.

`user_version` says how many have been applied, so that a store of today opens without the library that
applies them: importing it costs more than a whole search.

Version 1 had the archive's manifests as rows of their own, unsigned.  Version 2 has signed feeds.  A manifest
keeps its place and its clock, so whatever followed the log goes on where it was.  Version 3 notes which
opening of the store committed what.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from crdt.entries import ZERO, Entry, EntryKind, FeedId, Position, seal
from crdt.errors import Damaged, Unavailable
from crdt.feed_tables import NAME, FeedTables
from crdt.incarnation import Authorship, genesis_body
from crdt.keys import Signer
from crdt.manifests import Manifest, encode, kind_of, split
from crdt.roster import SpaceKind
from crdt.sqlite import transaction

if TYPE_CHECKING:
    from sqlite_utils import Database

VERSION = 3

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
_CREATE_FEEDS = (
    """CREATE TABLE feeds (
        id INTEGER PRIMARY KEY,
        space BLOB NOT NULL,
        author BLOB NOT NULL,
        inc BLOB NOT NULL,
        seq INTEGER NOT NULL DEFAULT 0,
        count INTEGER NOT NULL DEFAULT 0,
        head BLOB NOT NULL DEFAULT x'',
        forked INTEGER NOT NULL DEFAULT 0,
        UNIQUE (space, author, inc)
    ) STRICT""",
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        feed INTEGER NOT NULL REFERENCES feeds,
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        prev BLOB NOT NULL,
        hlc INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        void INTEGER NOT NULL DEFAULT 0,
        header BLOB NOT NULL,
        body BLOB,
        signature BLOB NOT NULL
    ) STRICT""",
    "CREATE INDEX of_feed ON entries (feed, seq, hash, void)",
    "CREATE INDEX clocks ON entries (hlc)",
    "CREATE INDEX rosters ON entries (id) WHERE kind <= 2",
    "CREATE INDEX manifests ON entries (id) WHERE kind BETWEEN 4 AND 7 AND void = 0",
    "CREATE INDEX erasures ON entries (body) WHERE kind = 9",
    "CREATE INDEX voids ON entries (feed, seq) WHERE void = 1",
    """CREATE TABLE pending (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        hash BLOB NOT NULL UNIQUE,
        space BLOB NOT NULL,
        author BLOB NOT NULL,
        inc BLOB NOT NULL,
        prev BLOB NOT NULL,
        kind INTEGER NOT NULL,
        reason TEXT NOT NULL,
        waits_for BLOB,
        due_ms INTEGER,
        size INTEGER NOT NULL,
        raw BLOB NOT NULL
    ) STRICT""",
    "ALTER TABLE tails ADD COLUMN taken INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE wanted (
        sha256 BLOB NOT NULL,
        entry INTEGER NOT NULL REFERENCES entries,
        is_segment INTEGER NOT NULL,
        UNIQUE (sha256, entry)
    ) STRICT""",
    "CREATE INDEX wanted_by ON wanted (entry)",
    "CREATE INDEX pending_of_author ON pending (author)",
    "CREATE INDEX pending_awaiting ON pending (waits_for)",
    "CREATE INDEX pending_behind ON pending (prev)",
    "CREATE INDEX pending_due ON pending (due_ms) WHERE due_ms IS NOT NULL",
    "CREATE INDEX pending_erasures ON pending (id) WHERE kind = 9",
)
_CREATE_OPENINGS = "CREATE TABLE openings (place INTEGER PRIMARY KEY, token BLOB NOT NULL UNIQUE) STRICT"
_MANIFESTS = "SELECT seq, hlc, body FROM manifests ORDER BY seq"
_DROP_MANIFESTS = "DROP TABLE manifests"

_MANIFEST = msgspec.msgpack.Decoder(Manifest)


class Founder(NamedTuple):
    """Who signs what an older store had unsigned."""

    signer: Signer
    authorship: Authorship


def migrate(connection: sqlite3.Connection, founder: Founder | None = None) -> None:
    """Bring an open store to the newest version in one transaction, once, however many open it together.

    Raises `Unavailable` for a store that a newer program made, and for one whose manifests have to be
    signed and nobody can.
    """
    if version_of(connection) == VERSION:
        return
    from sqlite_utils import Database, Migrations

    steps = Migrations("feeds")

    @steps()
    def manifests_and_tails(database: Database) -> None:
        database.conn.execute(_CREATE_MANIFESTS)
        database.conn.execute(_CREATE_TAILS)

    @steps()
    def signed_feeds(database: Database) -> None:
        _sign_manifests(database.conn, founder)

    @steps()
    def openings(database: Database) -> None:
        database.conn.execute(_CREATE_OPENINGS)

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


def _sign_manifests(connection: sqlite3.Connection, founder: Founder | None) -> None:
    """Make the manifests of version 1 the first entries of this node's home, behind its genesis.

    The two geneses are dated before the first manifest and get the places after the last.
    """
    manifests = connection.execute(_MANIFESTS).fetchall()
    connection.execute(_DROP_MANIFESTS)
    for statement in _CREATE_FEEDS:
        connection.execute(statement)
    if not manifests:
        return
    if founder is None:
        raise Unavailable("the archive is of an older version", hint="run `atrium capture`")
    tables = FeedTables(connection)
    last_place, first_hlc = manifests[-1][0], manifests[0][1]
    home, private = (_genesis(founder, kind, max(first_hlc - 1, 0)) for kind in _OWN_SPACES)
    tables.add_entry(home, last_place + 1)
    tables.add_entry(private, last_place + 2)
    for place, entry in _chain(home, manifests, founder):
        tables.add_entry(entry, place)


_OWN_SPACES: tuple[SpaceKind, SpaceKind] = ("home", "private")


def _genesis(founder: Founder, kind: SpaceKind, hlc: int) -> Entry:
    feed = FeedId(ZERO, founder.signer.public_key, secrets.randbits(64))
    body = genesis_body(kind, founder.authorship, founder.authorship.now_ms())
    return seal(EntryKind.GENESIS, body, Position(feed=feed, seq=1, prev=ZERO, hlc=hlc), founder.signer)


def _chain(
    home: Entry, manifests: list[tuple[int, int, bytes]], founder: Founder
) -> Iterator[tuple[int | None, Entry]]:
    """Seal manifests one behind the other; what one entry can't hold goes on in others, placed at the end."""
    before = home
    for place, hlc, body in manifests:
        for number, (kind, part) in enumerate(_parts(place, body)):
            position = Position(
                feed=home.feed, seq=before.seq + 1, prev=before.hash, hlc=max(hlc, before.hlc + 1)
            )
            before = seal(kind, part, position, founder.signer)
            yield (place if number == 0 else None), before


def _parts(place: int, body: bytes) -> list[tuple[int, bytes]]:
    try:
        manifest = _MANIFEST.decode(body)
    except msgspec.MsgspecError as error:
        raise Damaged(f"manifest {place} of {NAME} can't be read ({error})") from error
    parts = split(manifest)
    if len(parts) == 1:
        return [(kind_of(manifest), body)]
    return [(kind_of(part), encode(part)) for part in parts]
