"""Checks of what is kept: is it fresh, does it hold together, will something be lost soon."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from crdt.errors import OlderVersion
from crdt.sqlite import MENDS
from node.checks import Check, Look, Severity
from node.instants import StampInvalid, read_stamp
from retrieval.freshness import STALE_AFTER_S

REFRESH_DEAD_S: Final = 6 * 3_600.0
"""DECISIONS.md 29; stale is what answers call stale, too."""
ARCHIVE_STALE_S: Final = 3_600.0
ARCHIVE_DEAD_S: Final = 24 * 3_600.0
"""How long something new may wait to be captured.  Without anything new an archive of any age is fresh."""
SUBSTRINGS_LEFT_MAX: Final = 50_000
"""What the substring lane has not seen is scanned: so many records cost a query about 0.2 s."""
CLOCK_AHEAD_S_MAX: Final = 300.0
"""An entry may be this far ahead (DECISIONS.md 8)."""
CLOCK_S_MIN: Final = 1_704_067_200.0
"""1 January 2024: no clock that was ever set shows less."""
USED_SHARE_MAX: Final = 0.75
"""Of the time that a transcript is kept: with 30 days there is a week left to capture it."""

CAPTURE = "run `atrium capture`, or `atrium up` to have it done"
REBUILD = "run `atrium rebuild`"


def check_refresh(look: Look) -> Check:
    """Judge the age of the last successful capture or ingest."""
    name = "refresh"
    try:
        stamp_s = read_stamp(look.paths.last_refresh, look.now_s)
    except StampInvalid:
        return Check(name=name, code="refresh_invalid", severity=Severity.WARN, hint=CAPTURE)
    if stamp_s is None:
        severity = Severity.WARN if look.archive.head else Severity.OK
        return Check(name=name, code="refresh_never_recorded", severity=severity, hint=CAPTURE)
    age_s = look.now_s - stamp_s
    if age_s > REFRESH_DEAD_S:
        return Check(name=name, code="refresh_dead", severity=Severity.BROKEN, hint=CAPTURE)
    if age_s > STALE_AFTER_S:
        return Check(name=name, code="refresh_stale", severity=Severity.WARN, hint=CAPTURE)
    return Check(name=name, code="refresh_fresh")


def check_archive(look: Look) -> Check:
    """Judge whether the archive is there, and whether something new waits too long for it."""
    name = "archive"
    facts = look.archive
    if facts.fault == "damaged":
        return Check(name=name, code="archive_damaged", severity=Severity.BROKEN, hint=MENDS["canonical"])
    if facts.fault == "older":
        hint = OlderVersion.default_hint
        return Check(name=name, code="archive_older", severity=Severity.WARN, hint=hint)
    if facts.fault == "unreadable":
        hint = "run `atrium doctor` again; if it stays so, check who may read the state directory"
        return Check(name=name, code="archive_unreadable", severity=Severity.BROKEN, hint=hint)
    if not facts.head:
        return _missing_archive(look)
    waits_s = look.now_s - (look.waiting.oldest_new_s or look.now_s)
    if waits_s > ARCHIVE_DEAD_S:
        return Check(name=name, code="archive_dead", severity=Severity.BROKEN, hint=CAPTURE)
    if waits_s > ARCHIVE_STALE_S:
        return Check(name=name, code="archive_stale", severity=Severity.WARN, hint=CAPTURE)
    return Check(name=name, code="archive_fresh")


def _missing_archive(look: Look) -> Check:
    """Tell a machine without an archive from one that lost it."""
    health = look.index.health
    was_there = (health is not None and health.watermark > 0) or any(look.paths.segments.glob("??/*.zst"))
    if was_there:
        hint = "put the `canonical` folder back from a backup before anything is captured again"
        return Check(name="archive", code="archive_lost", severity=Severity.BROKEN, hint=hint)
    return Check(name="archive", code="archive_missing", hint="run `atrium up`, or `atrium capture`")


def check_index(look: Look) -> Check:
    """Judge whether the index is there, level with archive and memory, and of one piece."""
    name = "index"
    fault = look.index.fault
    if fault == "missing":
        is_due = look.archive.head > 0 or bool(look.local.local_store.note_roots())
        severity = Severity.BROKEN if is_due else Severity.OK
        hint = REBUILD if is_due else None
        return Check(name=name, code="index_missing", severity=severity, hint=hint)
    if fault in ("incompatible", "damaged"):
        return Check(name=name, code=f"index_{fault}", severity=Severity.BROKEN, hint=REBUILD)
    health = look.index.health
    if health is None:
        hint = "run `atrium doctor` again; if it stays so, check who may read the state directory"
        return Check(name=name, code="index_unreadable", severity=Severity.BROKEN, hint=hint)
    if health.records != health.texts:
        return Check(name=name, code="index_incoherent", severity=Severity.BROKEN, hint=REBUILD)
    if look.archive.fault is None and health.watermark > look.archive.head:
        return Check(name=name, code="index_ahead", severity=Severity.BROKEN, hint=REBUILD)
    if health.watermark < look.archive.head or look.memory_waits:
        hint = "run `atrium doctor --fix`, or wait for the node to do it"
        return Check(name=name, code="index_behind", severity=Severity.WARN, hint=hint)
    return Check(name=name, code="index_coherent")


def check_substrings(look: Look) -> Check | None:
    """Judge how much the substring lane has to scan."""
    health = look.index.health
    if health is None:
        return None
    if health.substrings_left > SUBSTRINGS_LEFT_MAX:
        hint = f"{health.substrings_left} records are scanned for each query: run `atrium doctor --fix`"
        return Check(name="substrings", code="substrings_behind", severity=Severity.WARN, hint=hint)
    return Check(name="substrings", code="substrings_level")


def check_notes(look: Look) -> Check | None:
    """See whether the directories of notes are still there; nothing of theirs is swept when they are not."""
    roots = look.local.local_store.note_roots()
    if not roots:
        return None
    gone = sum(not Path(root.path).is_dir() for root in roots)
    if not gone:
        return Check(name="notes", code="notes_present")
    hint = f"{gone} of {len(roots)} directories are gone: run `atrium ingest-notes` on where they are now"
    return Check(name="notes", code="notes_gone", severity=Severity.WARN, hint=hint)


def check_clock(look: Look) -> Check:
    """Compare the wall clock with what is possible, and with the newest entry of all feeds."""
    behind_s = look.newest_entry_s - look.now_s
    if look.now_s >= CLOCK_S_MIN and behind_s <= CLOCK_AHEAD_S_MAX:
        return Check(name="clock", code="clock_ok")
    hint = "set this machine's clock; order is kept until then, ages are wrong"
    return Check(name="clock", code="clock_skew", severity=Severity.WARN, hint=hint)


def check_retention(look: Look) -> Check | None:
    """Judge whether an agent will soon delete a transcript that was never captured."""
    if not look.roots:
        return None
    name, waiting = "retention", look.waiting
    if waiting.used_share > USED_SHARE_MAX:
        hint = "transcripts that were never captured will soon be deleted: run `atrium capture`"
        return Check(name=name, code="retention_near", severity=Severity.WARN, hint=hint)
    if waiting.is_partial:
        hint = "there was no time to look at every transcript: run `atrium doctor --deep`"
        return Check(name=name, code="retention_partial", hint=hint)
    return Check(name=name, code="retention_ok")
