"""What a check of the doctor is, the words it may say, and what the checks look at.

A check is a function that takes a `Look` and gives a `Check`, or None where it has nothing to look at.
What several checks need is read once.  Nothing of a person's is in a `Check`: no path, no text, no name of
a project.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from crdt.clock import milliseconds_of
from crdt.errors import AtriumError, Damaged, IndexUnavailable, OlderVersion
from crdt.sqlite import MENDS
from node.node_socket import SocketState, probe

if TYPE_CHECKING:
    from node.checks_waiting import Waiting
    from node.composition import Local
    from node.paths import StatePaths
    from retrieval.index_health import Health

CODES = (
    "aliases_malformed", "aliases_ok", "archive_damaged", "archive_dead", "archive_fresh", "archive_lost",
    "archive_missing", "archive_older", "archive_stale", "archive_unreadable", "archive_verified",
    "ballast_dropped", "ballast_kept", "check_failed", "clock_ok", "clock_skew", "configuration_invalid",
    "configuration_missing", "configuration_ok", "disk_full", "disk_low", "disk_ok", "entries_pending",
    "feed_forked", "feeds_whole", "identity_missing", "identity_new", "identity_ok", "identity_unusable",
    "index_ahead", "index_behind", "index_coherent", "index_damaged", "index_incoherent",
    "index_incompatible", "index_missing", "index_unreadable", "index_verified", "node_down", "node_running",
    "node_stale_socket", "notes_gone", "notes_present", "refresh_dead", "refresh_fresh", "refresh_invalid",
    "refresh_never_recorded", "refresh_stale", "retention_near", "retention_ok", "retention_partial",
    "segment_damaged", "segment_missing", "segment_unread", "sqlite_ok", "sqlite_without_fts5",
    "state_modes_ok", "state_modes_open", "state_read_only", "store_damaged", "store_ok", "store_read_only",
    "substrings_behind", "substrings_level", "watch_limited", "watch_ok",
)  # fmt: skip
"""Every word that a check may say; a word never changes its meaning."""

SCAN_S_MAX = 0.5
"""Time for a look at the transcripts, which may be many; all checks together have two seconds."""


class Severity(StrEnum):
    """`broken` alone makes the command fail."""

    OK = "ok"
    WARN = "warn"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one check found.  `hint` is the command that mends it, or one sentence, without a path."""

    name: str
    code: str
    severity: Severity = Severity.OK
    hint: str | None = None

    def __post_init__(self) -> None:
        """Hold a check to the words that are documented."""
        assert self.code in CODES, self.code  # noqa: S101 - a programmer's error, not the world's

    @property
    def ok(self) -> bool:
        """Tell whether there is nothing to say."""
        return self.severity == Severity.OK

    def document(self) -> dict[str, object]:
        """Give the check as `doctor --json` prints it."""
        said: dict[str, object] = {
            "name": self.name, "ok": self.ok, "severity": str(self.severity), "code": self.code,
        }  # fmt: skip
        return said if self.hint is None else {**said, "hint": self.hint}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What is left of a file system for its ordinary users."""

    free_bytes: int
    free_files: int


def disk_of(path: Path) -> Disk:
    """Ask the system; `free_files` is large where a file system doesn't count files."""
    found = os.statvfs(path)
    free_files = found.f_favail if found.f_files else 1 << 32
    return Disk(free_bytes=found.f_bavail * found.f_frsize, free_files=free_files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world outside the state directory.  `scan_s_max` of None takes the time that it takes."""

    now_s: float = field(default_factory=time.time)
    disk: Callable[[Path], Disk] = disk_of
    proc: Path = Path("/proc")
    scan_s_max: float | None = SCAN_S_MAX


Fault = Literal["missing", "older", "incompatible", "damaged", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFacts:
    """The archive's log: its newest place and instant, or why it can't be told."""

    head: int = 0
    newest_s: float | None = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts:
    """How the index stands, or why it can't be told; exactly one of the two is there."""

    health: Health | None = None
    fault: Fault | None = None


class Look:
    """One look at a state directory, which is open for reading; `roots` are the transcripts' directories."""

    def __init__(self, local: Local, roots: Mapping[str, list[str]], around: Surroundings) -> None:
        self.local = local
        self.roots = roots
        self.around = around

    @property
    def paths(self) -> StatePaths:
        """The paths of the state directory."""
        return self.local.paths

    @property
    def now_s(self) -> float:
        """The wall clock in seconds."""
        return self.around.now_s

    @cached_property
    def archive(self) -> ArchiveFacts:
        """Look at the archive's log."""
        try:
            log = self.local.archive.log
            head = log.head()
            newest = max((logged.hlc for logged in log.since(head - 1)), default=None)
        except OlderVersion:
            return ArchiveFacts(fault="older")
        except IndexUnavailable:
            return ArchiveFacts(fault="missing")
        except AtriumError as error:
            return ArchiveFacts(fault=_fault_of(error))
        newest_s = None if newest is None else milliseconds_of(newest) / 1000
        return ArchiveFacts(head=head, newest_s=newest_s)

    @cached_property
    def index(self) -> IndexFacts:
        """Look at the index."""
        from retrieval.index_health import health

        try:
            with self.local.reader() as reader:
                return IndexFacts(health=health(reader))
        except IndexUnavailable:
            return IndexFacts(fault="incompatible" if self.paths.index_db.exists() else "missing")
        except AtriumError as error:
            return IndexFacts(fault=_fault_of(error))

    @cached_property
    def memory_waits(self) -> bool:
        """Tell whether shared memory changed since the index followed it; False where that can't be told."""
        health = self.index.health
        try:
            with self.local.projection() as reader:
                head = reader.head()
                return health is not None and head > 0 and health.memory != (reader.generation(), head)
        except AtriumError:
            # What is not there yet has nothing to follow, and what can't be read is not the index's fault.
            return False

    @cached_property
    def newest_entry_s(self) -> float:
        """Tell the highest clock among all entries, 0 where that can't be told."""
        try:
            return milliseconds_of(self.local.feeds.read(lambda tables: tables.last_hlc())) / 1000
        except AtriumError:
            # Feeds that are absent or can't be read are the matter of another check.
            return 0.0

    @cached_property
    def socket(self) -> SocketState:
        """Find out whether a node answers."""
        return "answers" if self.local.served_by == "node" else probe(self.paths.socket)

    @cached_property
    def waiting(self) -> Waiting:
        """Look for transcripts that were not captured as they are now."""
        from node.checks_waiting import find_waiting

        return find_waiting(self)


Checker = Callable[[Look], Check | None]


def run_checks(checkers: tuple[Checker, ...], look: Look) -> list[Check]:
    """Run each check; one that fails itself says so and leaves the others alone."""
    found = (_run(checker, look) for checker in checkers)
    return [check for check in found if check is not None]


def _run(checker: Checker, look: Look) -> Check | None:
    try:
        return checker(look)
    except AtriumError as error:
        # That of one error may name a path, the class's own and those of databases never do.
        hint = error.hint if error.hint in MENDS.values() else type(error).default_hint
    except OSError:
        hint = "run `atrium doctor` as the user whose state directory it is"
    return Check(
        name=checker.__name__.removeprefix("check_"),
        code="check_failed",
        severity=Severity.BROKEN,
        hint=hint,
    )


def _fault_of(error: AtriumError) -> Fault:
    return "damaged" if isinstance(error, Damaged) else "unreadable"
