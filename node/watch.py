"""Notice what agents write, and have it captured.

The kernel tells of changes below the transcript directories; a full scan now and then is the safety net
under it.  Directories that don't exist yet are looked for every two seconds.  Where the kernel's limit of
watches is reached, the directories are polled, and the log says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path

from watchfiles import Change, awatch

from node.logs import Logger

DEBOUNCE_MS = 400
"""Changes within it are one; together with the capture it leaves a write searchable within 2 s."""
QUIET_MS = 50
LOOK_MS = 2_000
"""How often missing directories are looked for."""
POLL_MS = 1_000
BREATH_S = 0.3
"""Between two captures, so that an agent that writes without pause doesn't keep a core busy."""

Roots = Mapping[str, list[str]]
Capture = Callable[[dict[str, list[str]]], Awaitable[None]]
Pause = Callable[[float], Awaitable[None]]
Changes = set[tuple[Change, str]]


class Watcher:
    """Call `capture` with the roots in which something changed."""

    def __init__(self, roots: Roots, capture: Capture, log: Logger) -> None:
        self._roots = roots
        self._capture = capture
        self._log = log
        self._polling = False

    async def run(self) -> None:
        """Watch until cancelled; the set of watched directories follows what exists."""
        while True:
            present = existing(self._roots)
            if not present:
                await asyncio.sleep(LOOK_MS / 1000)
                continue
            try:
                await self._follow(present)
            except FileNotFoundError:
                # A directory went away between the look and the watch; look again.
                await asyncio.sleep(BREATH_S)
            except (OSError, RuntimeError) as error:
                if self._polling:
                    raise
                self._polling = True
                self._log.warning("watching_fell_back_to_polling", error=type(error).__name__)

    async def _follow(self, present: dict[str, list[str]]) -> None:
        """Capture on changes until another directory appears or one goes away."""
        self._log.info("watching_started", directories=sum(map(len, present.values())), polling=self._polling)
        folders = [folder for folders in present.values() for folder in folders]
        first = True
        async with aclosing(_changes(folders, polling=self._polling)) as batches:
            async for changes in batches:
                # What was written between the last scan and the start of the watch shows in no change.
                touched = present if first else touched_roots(present, (path for _, path in changes))
                first = False
                if touched:
                    await self._capture(touched)
                    await asyncio.sleep(BREATH_S)
                if existing(self._roots) != present:
                    return


def existing(roots: Roots) -> dict[str, list[str]]:
    """Keep the directories that exist, by provider."""
    kept = {name: [folder for folder in folders if Path(folder).is_dir()] for name, folders in roots.items()}
    return {name: folders for name, folders in kept.items() if folders}


def touched_roots(roots: Roots, paths: Iterable[str]) -> dict[str, list[str]]:
    """Keep the directories below which one of the paths lies; all of them for a path below none.

    The kernel's notices name files by the path that was given; when a link makes that another, it is
    better to look everywhere than nowhere.
    """
    changed = list(paths)
    every = [folder for folders in roots.values() for folder in folders]
    if any(not any(_is_below(path, folder) for folder in every) for path in changed):
        return {name: list(folders) for name, folders in roots.items()}
    kept = {
        name: [folder for folder in folders if any(_is_below(path, folder) for path in changed)]
        for name, folders in roots.items()
    }
    return {name: folders for name, folders in kept.items() if folders}


async def scan_regularly(
    roots: Roots,
    capture: Capture,
    interval_s: float,
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Capture from every directory now and then every `interval_s`, until cancelled."""
    while True:
        await capture({name: list(folders) for name, folders in roots.items()})
        await pause(interval_s)


def changes_below(folder: str) -> AsyncGenerator[Changes, None]:
    """Give sets of changes below one directory as they come, for a command that stays and follows."""
    return awatch(folder, watch_filter=None, debounce=DEBOUNCE_MS, step=QUIET_MS)


def _changes(folders: list[str], *, polling: bool) -> AsyncGenerator[Changes, None]:
    return awatch(
        *folders,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=QUIET_MS,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        force_polling=polling or None,
        poll_delay_ms=POLL_MS,
        ignore_permission_denied=True,
    )


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
