"""The substring lane: any three characters or more, wherever they stand, case apart.

A trigram index in a database of its own, so that building it (twice the work of the words) never holds up
the words lane and runs beside it on another core.  It follows `records` by row id; what it has not seen
yet is scanned, so an answer is right at every moment.  Scripts without spaces are searched here, where a
word of two characters is scanned for, since no trigram holds it.  Superseded records come last.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from crdt.errors import Damaged
from crdt.sqlite import faults, open_writer, transaction
from retrieval.index_schema import create_database, discard_database, open_index_reader
from retrieval.index_scope import ALIVE, IN_SCOPE, parameters
from retrieval.models import SUPERSEDED_LOSS, Candidate, Deadline, Filter, LaneAnswer
from retrieval.words import Found, interruptible

NAME = "derived/substrings.db"
VERSION = 1
CHARS_MIN = 3
UNSPACED_CHARS_MIN = 2
"""Most words of Chinese have two characters."""
BATCH_RECORDS = 2_000
BATCH_CHARS = 8 << 20
"""What one transaction takes in, whichever is reached first: a single message can have 64 MiB."""
PATTERN_CHARS_MAX = 1_000
"""Characters of a query that are looked for; the trigram tokenizer pays for every one."""

# Thai, Lao, Burmese, Khmer, kana and the ideographs, with their punctuation.
_UNSPACED = (
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_LONG_FOLDED = (
    "([\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9a\u1e9e\u1f50-\u1f57\u1f80-\u1fff\ufb00-\ufb17])"
)
"""What full case folding makes several characters of, such as the German sharp s."""

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT",
    "CREATE VIRTUAL TABLE substrings USING fts5 (text, content = '', tokenize = 'trigram')",
)
_GET = "SELECT value FROM meta WHERE key = ?"
_SET = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_COUNT_NEW = "SELECT count(*) FROM texts WHERE id > ?"
_NEW = "SELECT id, text FROM texts WHERE id > ? ORDER BY id LIMIT ?"
_RETIRED = "SELECT id, text, record FROM retired WHERE id > ? ORDER BY id LIMIT ?"
_ADD = "INSERT INTO substrings (rowid, text) VALUES (?, ?)"
_FORGET = "INSERT INTO substrings (substrings, rowid, text) VALUES ('delete', ?, ?)"
_GENERATION = "SELECT value FROM meta WHERE key = 'generation'"

_SELECT = """
SELECT r.id, -bm25(substrings) AS strength, '', r.superseded_by IS NOT NULL AS is_superseded
FROM lane.substrings JOIN main.records r ON r.id = substrings.rowid
WHERE substrings MATCH :match AND r.role IN (SELECT value FROM json_each(:roles)) AND {visible}
ORDER BY is_superseded, strength DESC, r.record_id LIMIT :limit
"""
_SCAN = """
SELECT r.id, 0.0, '', r.superseded_by IS NOT NULL AS is_superseded
FROM main.texts t JOIN main.records r ON r.id = t.id
WHERE t.id > :seen AND r.role IN (SELECT value FROM json_each(:roles)) AND {visible} AND has_pattern(t.text)
ORDER BY is_superseded, r.record_id LIMIT :limit
"""
_VISIBLE = {False: ALIVE, True: f"{ALIVE} AND {IN_SCOPE}"}
_SELECTS = {scoped: _SELECT.format(visible=visible) for scoped, visible in _VISIBLE.items()}
_SCANS = {scoped: _SCAN.format(visible=visible) for scoped, visible in _VISIBLE.items()}

RowT = TypeVar("RowT", tuple[int, str], tuple[int, str, int])


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the empty tables of the lane."""
    for statement in _TABLES:
        connection.execute(statement)


class SubstringFollower:
    """Brings the lane level with the index, a batch a transaction; crash-safe at any point.

    A lane that is damaged or of another version is made anew: nothing is in it that the index has not.
    `on_forgotten` is told up to which row of `retired` the lane has forgotten what it had.
    """

    def __init__(
        self, path: Path, index_path: Path, on_forgotten: Callable[[int], None] = lambda _row: None
    ) -> None:
        self._path = path
        self._index_path = index_path
        self._on_forgotten = on_forgotten

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Take in what is new in the index and forget what left it; return the records taken in."""
        index = open_index_reader(self._index_path)
        try:
            try:
                taken, forgotten = self._bring_level(index, progress)
            except Damaged:
                discard_database(self._path)
                taken, forgotten = self._bring_level(index, progress)
        finally:
            index.close()
        self._on_forgotten(forgotten)
        return taken

    def _bring_level(
        self, index: sqlite3.Connection, progress: Callable[[int, int], None] | None
    ) -> tuple[int, int]:
        """Follow the index once; return the records taken in, and the last row of `retired` forgotten."""
        with faults(NAME), closing(self._open(index)) as lane:
            return self._follow(lane, index, progress), _value(lane, "retired")

    def _open(self, index: sqlite3.Connection) -> sqlite3.Connection:
        """Open the lane's file, made anew when it is of another version, or follows another index."""
        generation = index.execute(_GENERATION).fetchone()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        create_database(self._path, create_tables, VERSION)
        lane = open_writer(self._path, durable=False)
        try:
            is_ours = _is_of_this_version(lane) and _generation(lane) in (None, generation)
            if not is_ours:
                lane.close()
                discard_database(self._path)
                create_database(self._path, create_tables, VERSION)
                lane = open_writer(self._path, durable=False)
            with transaction(lane):
                lane.execute(_SET, ("generation", generation[0] if generation else ""))
        except BaseException:
            lane.close()
            raise
        return lane

    def _follow(
        self,
        lane: sqlite3.Connection,
        index: sqlite3.Connection,
        progress: Callable[[int, int], None] | None,
    ) -> int:
        taken = 0
        total = index.execute(_COUNT_NEW, (_value(lane, "record"),)).fetchone()[0]
        while self._forget_batch(lane, index):
            pass
        while batch := _next_batch(index, _value(lane, "record")):
            with transaction(lane):
                lane.executemany(_ADD, batch)
                lane.execute(_SET, ("record", batch[-1][0]))
            taken += len(batch)
            if progress:
                progress(taken, total)
        return taken

    def _forget_batch(self, lane: sqlite3.Connection, index: sqlite3.Connection) -> bool:
        """Forget retired rows that the lane had taken in; False when none are left.

        A row whose text was dropped was forgotten before; a lane that lost that in a power cut keeps a few
        letters of no record, which no answer shows.
        """
        retired = _next_retired(index, _value(lane, "retired"))
        if not retired:
            return False
        seen = _value(lane, "record")
        with transaction(lane):
            lane.executemany(
                _FORGET, [(record, text) for _, text, record in retired if text and record <= seen]
            )
            lane.execute(_SET, ("retired", retired[-1][0]))
        return True


def _next_batch(index: sqlite3.Connection, after: int) -> list[tuple[int, str]]:
    """Read the records that follow a row, as many as fit."""
    with closing(index.execute(_NEW, (after, BATCH_RECORDS))) as rows:
        return _as_many_as_fit(rows)


def _next_retired(index: sqlite3.Connection, after: int) -> list[tuple[int, str, int]]:
    """Read the retired rows that follow one, as many as fit: each with its text and its record."""
    with closing(index.execute(_RETIRED, (after, BATCH_RECORDS))) as rows:
        return _as_many_as_fit(rows)


def _as_many_as_fit(rows: Iterable[RowT]) -> list[RowT]:
    """Take rows, whose texts stand second, until they are enough for a transaction."""
    batch: list[RowT] = []
    chars = 0
    for row in rows:
        batch.append(row)
        chars += len(row[1])
        if chars >= BATCH_CHARS:
            break
    return batch


def _is_of_this_version(lane: sqlite3.Connection) -> bool:
    return bool(lane.execute("PRAGMA user_version").fetchone()[0] == VERSION)


def _generation(lane: sqlite3.Connection) -> object:
    return lane.execute(_GET, ("generation",)).fetchone()


def _value(lane: sqlite3.Connection, key: str) -> int:
    row = lane.execute(_GET, (key,)).fetchone()
    return int(row[0]) if row else 0


def pattern_of(text: str) -> str:
    """Make of a query what is looked for: white space evened out, and no more than is worth its cost."""
    return " ".join(text.replace("\0", " ").split())[:PATTERN_CHARS_MAX]


def folded(text: str) -> str:
    """Take case out of a text as the trigram tokenizer does, one character for each."""
    if text.isascii():
        return text.lower()
    pieces = re.split(_LONG_FOLDED, text)
    return "".join(
        _one_folded(piece) if place % 2 else piece.casefold() for place, piece in enumerate(pieces)
    )


def _one_folded(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character


def has_unspaced_script(text: str) -> bool:
    """Tell whether a text has characters of a script that puts no spaces between words."""
    # Compiled at the first such text, since that takes 5 ms, which few searches need to spend.
    return not text.isascii() and re.search(_UNSPACED, text) is not None


def search_substrings(
    connection: sqlite3.Connection, text: str, wanted: Filter, limit: int, deadline: Deadline
) -> LaneAnswer:
    """Find records that have the text anywhere, best first; `lane` must be attached where it exists.

    Fewer than three characters find nothing, fewer than two in scripts without spaces.  Records that the
    trigram index has not seen come after the ranked ones, in the order of their ids.
    """
    pattern = pattern_of(text)
    if len(pattern) < (UNSPACED_CHARS_MIN if has_unspaced_script(pattern) else CHARS_MIN):
        return LaneAnswer()
    scoped = wanted.workspace is not None
    given = {**parameters(wanted), "limit": limit, "seen": 0}
    ranked: list[Found] = []
    is_cut = False
    if _is_attached(connection) and len(pattern) >= CHARS_MIN:
        seen = connection.execute("SELECT value FROM lane.meta WHERE key = 'record'").fetchone()
        given["seen"] = seen[0] if seen else 0
        given["match"] = '"' + pattern.replace('"', '""') + '"'
        ranked, is_cut = interruptible(connection, _SELECTS[scoped], given, deadline)
    scanned, is_cut_too = _scan(connection, pattern, given, deadline, scoped=scoped)
    best = max((strength for _, strength, *_ in ranked), default=0.0) or 1.0
    candidates = [_candidate(row, 1.0 + row[1] / best) for row in ranked]
    candidates += [_candidate(row, 0.5) for row in scanned]
    candidates.sort(key=lambda candidate: candidate.score < 0)
    return LaneAnswer(candidates=tuple(candidates[:limit]), is_exhausted=is_cut or is_cut_too)


def _scan(
    connection: sqlite3.Connection,
    pattern: str,
    given: Mapping[str, object],
    deadline: Deadline,
    *,
    scoped: bool,
) -> tuple[list[Found], bool]:
    """Look for the pattern in records that the trigram index has not seen."""
    sought = folded(pattern)
    connection.create_function("has_pattern", 1, lambda text: sought in folded(text))
    return interruptible(connection, _SCANS[scoped], given, deadline)


def _candidate(row: Found, score: float) -> Candidate:
    return Candidate(row=row[0], score=score - SUPERSEDED_LOSS if row[3] else score)


def _is_attached(connection: sqlite3.Connection) -> bool:
    return any(row[1] == "lane" for row in connection.execute("PRAGMA database_list"))
