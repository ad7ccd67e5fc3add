"""What tests of whole processes share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.killing import Nursery

MEMORY = Path("/dev/shm")
MEMORY_BYTES_MIN = 2 << 30
"""Nothing is taken in below 256 MiB, each node has a reserve of 64, and containers often have no more."""


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """Give a directory in memory where there is one: what dies here is a process, never the machine."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < MEMORY_BYTES_MIN:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="atrium-", dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Give what forks nodes, once for all tests of this process."""
    made = Nursery()
    yield made
    made.close()
