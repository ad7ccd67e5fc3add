"""A disk on which little room is left after so many looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crdt.errors import DiskFull
from node import ballast
from node.checks import Disk, disk_of


@contextmanager
def stopped_by_little_room(looks: int) -> Iterator[None]:
    """Expect a block to be stopped by the floor of free space, which is kept for so many looks at it."""
    with pytest.MonkeyPatch.context() as patch:
        little_room_after(patch, looks)
        with pytest.raises(DiskFull, match="256 MiB"):
            yield


def little_room_after(patch: pytest.MonkeyPatch, looks: int) -> None:
    """Let there be room enough for so many looks, and no longer."""
    left = iter(range(looks))

    def seen(path: Path) -> Disk:
        return Disk(free_bytes=1, free_files=1) if next(left, None) is None else disk_of(path)

    patch.setattr(ballast, "disk_of", seen)
