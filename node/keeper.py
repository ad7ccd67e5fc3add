"""Keep the store of a running node able to write, and know how it stands.

Every two seconds: a store that went read-only is tried again, so that it recovers by itself within seconds of
the space coming back; the reserve is given back for that, and taken again when there is room.  Every minute:
entries that waited for their moment are taken, and a log that nothing is added to is folded into its file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from crdt.errors import AtriumError, Damaged, DiskFull
from node.ballast import Ballast
from node.logs import Logger
from node.service import describe

if TYPE_CHECKING:
    from node.composition import Local

STEP_S: Final = 2.0
ROUTINE_S: Final = 60.0


class Keeper:
    """What a node does for its store, a step at a time; only one step runs at any time."""

    def __init__(self, local: Local, log: Logger, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._local = local
        self._log = log
        self._now_s = now_s
        self._ballast = Ballast(local.paths.ballast)
        self._routine_s = now_s()
        self._head = 0
        self._said: str | None = None
        self.damage: tuple[str, ...] = ()
        """What SQLite found wrong with the file when the node started."""
        self.is_reserved: bool | None = None
        """Whether the reserve is there; None before the first look."""

    @property
    def fault(self) -> AtriumError | None:
        """Why nothing can be written at this moment; None while all is well."""
        try:
            return self._local.feeds.fault
        except AtriumError as error:
            # It could not even be opened.
            return error

    def check(self) -> None:
        """Ask SQLite whether the store is whole; reads all of it."""
        began_s = self._now_s()
        try:
            self.damage = tuple(self._local.feeds.quick_check())
        except Damaged as error:
            # It is too damaged to be checked to its end.
            self.damage = (error.detail,)
        seconds = round(self._now_s() - began_s, 3)
        if self.damage:
            self._log.error("store_found_damaged", findings=len(self.damage), seconds=seconds)
        else:
            self._log.info("store_checked", seconds=seconds)

    def step(self) -> None:
        """Do what is due; a fault of the disk is logged once and left to a later step."""
        try:
            self._mend()
            if self._now_s() >= self._routine_s + ROUTINE_S:
                self._routine_s = self._now_s()
                self._take_due()
                self._fold_when_idle()
        except AtriumError as error:
            if error.code != self._said:
                self._log.warning("store_not_kept", **describe(error))
            self._said = error.code
        else:
            self._said = None
        finally:
            self.is_reserved = self._ballast.is_kept

    def _mend(self) -> None:
        fault = self.fault
        if fault is None:
            if self._ballast.restore():
                self._log.info("ballast_restored")
            return
        if isinstance(fault, DiskFull) and self._ballast.drop():
            self._log.warning("ballast_dropped")
        self._local.feeds.probe()
        self._log.info("store_recovered", code=fault.code)
        self._follow()

    def _take_due(self) -> None:
        received = self._local.feeds.retry()
        if received.committed:
            self._log.info("pending_entries_taken", entries=len(received.committed))
            self._follow()

    def _fold_when_idle(self) -> None:
        feeds, path = self._local.feeds, self._local.paths.feeds_db
        head, self._head = self._head, feeds.head()
        log = path.with_name(f"{path.name}-wal")
        if head == self._head and log.exists() and log.stat().st_size:
            feeds.fold()

    def _follow(self) -> None:
        from node.services.records import follow

        follow(self._local)
