"""What captures and ingests do for the archive at their end."""

from __future__ import annotations

import os
from pathlib import Path

from archivist.sealing import QUIET_MS
from crdt.clock import wall_ms
from crdt.segments import ORPHAN_AGE_S
from node.services.upkeep import keep_archive
from tests.node.filled import archive, fragment_of, opened


def test_what_waited_is_sealed_and_the_index_knows_where_it_lies(tmp_path: Path) -> None:
    root = tmp_path / "state"
    archive(root, fragment_of("a", ["the crane"]), seal=False)
    with opened(root, writable=True) as local:
        assert keep_archive(local) == 0
        assert keep_archive(local, wall_ms() + QUIET_MS) == 1
        assert local.follower.watermark() == local.archive.log.head()
        (segment,) = local.archive.current()
        rows = local.index.connection.execute("SELECT hex(segment) FROM fragments").fetchall()
        assert rows == [(segment.upper(),)]


def test_old_files_that_nothing_names_are_dropped_then(tmp_path: Path) -> None:
    root = tmp_path / "state"
    archive(root, fragment_of("a", ["the crane"]), seal=False)
    with opened(root, writable=True) as local:
        staged = local.archive.stage([fragment_of("b", ["never named"])])
        path = local.archive.segments.path(staged.sha256)
        long_ago_s = path.stat().st_mtime - ORPHAN_AGE_S - 1
        os.utime(path, (long_ago_s, long_ago_s))
        keep_archive(local, wall_ms() + QUIET_MS)
        assert not path.exists()
        assert list(local.archive.segments.names()) == list(local.archive.current())
