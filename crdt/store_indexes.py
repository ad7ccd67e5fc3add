"""Make the indexes of the store fit its tables again, which loses nothing.

An index says in another order what its table says.  One that lacks a row hides it from whoever looks there,
though the entry is as it was written: no backup is needed for that, which would lack what came after it.
"""

from __future__ import annotations

import sqlite3
from typing import Literal

from crdt.errors import Damaged
from crdt.feed_commit import FeedCommitter
from crdt.feed_tables import NAME
from crdt.store import FeedStore

FaultKind = Literal["store", "index"]


def faults_of(store: FeedStore) -> tuple[FaultKind, list[str]]:
    """Say what SQLite finds wrong with the file, and whether that is of its indexes alone."""
    found = store.quick_check(thorough=True)
    return ("store" if found and store.quick_check() else "index"), found


def fit_indexes(store: FeedStore) -> bool:
    """Make the indexes anew where one does not fit its table; tell whether that was so.

    Damaged tables are left as they are, for a backup to take their place.  Raises `Damaged` where a row is
    there twice, which no index kept from coming in; nothing is changed then.
    """
    kind, found = faults_of(store)
    if kind != "index" or not found:
        return False
    store.run(_make_anew)
    return True


def _make_anew(committer: FeedCommitter) -> None:
    try:
        committer.tables.connection.execute("REINDEX")
    except sqlite3.IntegrityError as error:
        raise Damaged(
            f"{NAME} has a row twice ({error})",
            hint="`atrium restore DIR --replace` puts a backup in its place",
        ) from None
