"""Find transcripts that were not captured as they are now, and those that their agent will soon delete.

Only names, sizes and times are looked at, and for no longer than the look may take.  Providers other than
Claude Code delete nothing by age.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from archivist.providers import PROVIDERS
from archivist.providers.base import Cursor, Source, SourceUnreadable

if TYPE_CHECKING:
    from node.checks import Look

DELETES_BY_AGE = "claude-code"
CLEANUP_DAYS_DEFAULT = 30.0
"""What Claude Code does without `cleanupPeriodDays` in its settings."""
DAY_S = 86_400.0
SETTINGS_BYTES_MAX = 1 << 20


class _Settings(msgspec.Struct, frozen=True):
    """What is of interest in Claude Code's own settings."""

    cleanup_days: float | None = msgspec.field(name="cleanupPeriodDays", default=None)


@dataclass(slots=True, kw_only=True)
class Waiting:
    """What waits to be captured.

    `oldest_new_s` is when the oldest change after the archive's newest entry was made; what is older and
    waits was left out on purpose, or can't be read.  `used_share` is how much of its keeping time the
    transcript has used up that comes first to its end: 1.0 is due for deletion.  `is_partial` when time
    ran out before everything was looked at.
    """

    sources: int = 0
    oldest_new_s: float | None = None
    used_share: float = 0.0
    is_partial: bool = False


def find_waiting(look: Look) -> Waiting:
    """Compare every source below the roots with how far it was read."""
    budget_s = look.around.scan_s_max
    until_s = None if budget_s is None else time.monotonic() + budget_s
    found = Waiting()
    for provider, source, keep_days in _waiting_sources(look, until_s, found):
        found.sources += 1
        changed_s = source.modified_ns / 1e9
        if changed_s > (look.archive.newest_s or 0.0):
            found.oldest_new_s = min(found.oldest_new_s or changed_s, changed_s)
        if provider == DELETES_BY_AGE:
            age_days = (look.now_s - changed_s) / DAY_S
            found.used_share = max(found.used_share, age_days / max(keep_days, 1.0))
    return found


def cleanup_days(settings: Path) -> float:
    """Read how long Claude Code keeps transcripts; the default where its settings don't say."""
    try:
        with settings.open("rb") as file:
            said = msgspec.json.decode(file.read(SETTINGS_BYTES_MAX), type=_Settings).cleanup_days
    except (OSError, msgspec.MsgspecError):
        # The settings are another program's; what it can't read it treats as not said, too.
        return CLEANUP_DAYS_DEFAULT
    return CLEANUP_DAYS_DEFAULT if said is None else said


def _waiting_sources(
    look: Look, until_s: float | None, found: Waiting
) -> Iterator[tuple[str, Source, float]]:
    """Give waiting sources with how many days each is kept, until the time is over."""
    for provider, folder in _folders(look.roots):
        keep_days = cleanup_days(folder.parent / "settings.json")
        cursors = look.local.local_store.cursors(provider, str(folder))
        for source in _sources(provider, folder):
            if until_s is not None and time.monotonic() >= until_s:
                found.is_partial = True
                return
            if not _is_read(source, cursors):
                yield provider, source, keep_days


def _folders(roots: Mapping[str, list[str]]) -> Iterator[tuple[str, Path]]:
    """Give the directories that exist, of providers that there are."""
    for provider, folders in roots.items():
        if provider in PROVIDERS:
            yield from ((provider, folder) for folder in map(Path, folders) if folder.is_dir())


def _sources(provider: str, folder: Path) -> Iterator[Source]:
    try:
        yield from PROVIDERS[provider].sources(folder)
    except SourceUnreadable:
        # Capture counts what it can't read and says so; here the rest is what matters.
        return


def _is_read(source: Source, cursors: Mapping[str, Cursor]) -> bool:
    cursor = cursors.get(source.relative_path)
    if cursor is None:
        return False
    return (cursor.size_bytes, cursor.modified_ns, cursor.inode) == (
        source.size_bytes,
        source.modified_ns,
        source.inode,
    )
