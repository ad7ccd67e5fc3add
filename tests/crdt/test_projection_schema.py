"""The file of the projection: made whole, private, removed with its log."""

from __future__ import annotations

import stat
from contextlib import closing
from pathlib import Path

import pytest

from crdt.errors import Unavailable
from crdt.projection_schema import (
    discard_projection,
    open_projection_reader,
    open_projection_writer,
    replace_projection,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "projection.db"


def generation(path: Path) -> str:
    with closing(open_projection_reader(path)) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0])


def test_it_is_made_for_its_owner_alone_and_opened_again_as_it_is(path: Path) -> None:
    open_projection_writer(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    made = generation(path)
    open_projection_writer(path).close()
    assert generation(path) == made


def test_two_makings_have_two_generations(path: Path) -> None:
    open_projection_writer(path).close()
    made = generation(path)
    discard_projection(path)
    open_projection_writer(path).close()
    assert generation(path) != made


def test_discarding_takes_the_log_along_and_what_is_not_there_is_discarded(path: Path) -> None:
    with closing(open_projection_writer(path)):
        assert path.with_name(path.name + "-wal").exists()
        discard_projection(path)
        assert list(path.parent.iterdir()) == []
    discard_projection(path)


def test_a_reader_of_the_replaced_one_keeps_it_and_the_next_sees_the_new_one(path: Path) -> None:
    fresh = path.with_name("fresh.db")
    for each in (path, fresh):
        open_projection_writer(each).close()
    old, new = generation(path), generation(fresh)
    for each in path.parent.iterdir():
        if each.suffix != ".db":
            each.unlink()
    with closing(open_projection_reader(path)) as reader:
        replace_projection(fresh, path)
        kept = reader.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0]
    assert kept == old
    assert generation(path) == new
    assert not fresh.exists()


def test_a_reader_makes_nothing(path: Path) -> None:
    with pytest.raises(Unavailable):
        open_projection_reader(path)
    assert not path.parent.exists()
