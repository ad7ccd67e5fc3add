"""What a lane may see, as conditions inside its query: what is not expired, and what belongs to a project.

A scope is laid out as rows of a temporary table, one for each stored workspace that belongs to it with the
dates between which it does.  What has no workspace is placed by the label of its project, the last part of
a scope's path in lower case (DECISIONS.md 5); what has neither belongs to every scope or to none, by role.
`now_ms()` is a function of the reader's connection.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from retrieval.models import Filter
from retrieval.scope import LAST, Aliases

ALIVE = "(r.expires_ms IS NULL OR r.expires_ms > now_ms())"
IN_SCOPE = """
(EXISTS (SELECT 1 FROM temp.scope s WHERE s.workspace = r.workspace
         AND coalesce(r.authored_at, '') >= s.since AND coalesce(r.authored_at, '') < s.before)
 OR (r.workspace IS NULL AND CASE
     WHEN r.project IS NULL THEN r.role IN (SELECT value FROM json_each(:global_roles))
     ELSE r.project IN (SELECT label FROM temp.scope_label) END))
"""
_TABLES = (
    "CREATE TEMP TABLE scope (workspace INTEGER NOT NULL, since TEXT NOT NULL, before TEXT NOT NULL)",
    "CREATE INDEX temp.scope_by_workspace ON scope (workspace)",
    "CREATE TEMP TABLE scope_label (label TEXT NOT NULL)",
)
_EMPTY = ("DELETE FROM temp.scope", "DELETE FROM temp.scope_label")
_ADD = "INSERT INTO temp.scope (workspace, since, before) VALUES (?, ?, ?)"
_ADD_LABEL = "INSERT INTO temp.scope_label (label) VALUES (?)"
_STORED = "SELECT path, id FROM workspaces"


def prepare(connection: sqlite3.Connection, now_ms: Callable[[], int]) -> None:
    """Give a reader's connection the clock that decides what is expired."""
    connection.create_function("now_ms", 0, now_ms, deterministic=True)


def create_scope(connection: sqlite3.Connection) -> None:
    """Make the empty tables that `lay_out` fills."""
    for statement in _TABLES:
        connection.execute(statement)


def lay_out(connection: sqlite3.Connection, aliases: Aliases, workspace: str) -> None:
    """Put the stored workspaces of a scope, and its label, into the tables that the lanes look at."""
    for statement in _EMPTY:
        connection.execute(statement)
    stored = dict(connection.execute(_STORED).fetchall())
    windows = aliases.windows(workspace, stored)
    connection.executemany(_ADD, [(stored[path], since, before) for path, since, before in windows])
    connection.execute(_ADD_LABEL, (label_of(aliases.resolve(workspace, LAST)),))


def label_of(workspace: str) -> str:
    """Name the project of a workspace: the last part of its path in lower case."""
    return workspace.rstrip("/").rpartition("/")[2].lower()


def parameters(wanted: Filter) -> dict[str, object]:
    """Spell a filter for a lane's query."""
    return {"roles": json.dumps(wanted.roles), "global_roles": json.dumps(wanted.global_roles)}
