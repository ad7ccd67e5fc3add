"""What every provider's adapter promises, checked over all with the same session in each one's form."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from archivist.providers import PROVIDERS, Cursor, Provider, SourceUnreadable
from crdt.events import Kind, Role
from tests.archivist.providers.samples import WORLDS, Reading, World, read_root

WORDS = ("please", "check", "disk", "ninety", "percent", "nearly", "perhaps")


@pytest.fixture(params=WORLDS, ids=lambda world: world.provider)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    made: World = request.param
    made.fill(tmp_path / "root")
    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def provider(world: World) -> Provider:
    return PROVIDERS[world.provider]


def read_again(provider: Provider, root: Path, cursor: Cursor | None) -> Reading:
    (source,) = provider.sources(root)
    return Reading().add(provider.read(source, cursor))


def test_every_adapter_is_in_this_suite() -> None:
    assert [world.provider for world in WORLDS] == list(PROVIDERS)
    assert all(PROVIDERS[name].name == name for name in PROVIDERS)


def test_the_persons_and_the_assistants_words_are_messages_and_nothing_else_is(
    provider: Provider, root: Path
) -> None:
    reading = read_root(provider, root)
    messages = [(role, text) for kind, role, text in reading.said() if kind == "message"]
    assert messages[0] == ("user", "please check the disk")
    assert messages[-1] == ("assistant", "The volume is nearly full.")
    assert "ninety percent" in reading.of_kind("tool-result")
    assert not [event for event in reading.events if "ninety" in event.text and event.role == "user"]


def test_events_are_well_formed(provider: Provider, root: Path, world: World) -> None:
    reading = read_root(provider, root)
    assert {event.source_id for event in reading.events} == {world.source_id}
    assert {event.kind for event in reading.events} <= {kind.value for kind in Kind}
    assert {event.role for event in reading.events} <= {role.value for role in Role}
    dated = [event.timestamp for event in reading.events if event.timestamp is not None]
    assert dated
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment) for moment in dated)


def test_raw_ids_are_unique_and_seq_rises(provider: Provider, root: Path) -> None:
    events = read_root(provider, root).events
    assert len({(event.source_id, event.raw_id) for event in events}) == len(events)
    assert [event.seq for event in events] == list(range(len(events)))


def test_sessions_describe_the_conversations_of_the_events(
    provider: Provider, root: Path, world: World
) -> None:
    for increment in read_root(provider, root).increments:
        assert {event.source_id for event in increment.events} <= set(increment.sessions)
        for name, session in increment.sessions.items():
            assert session.source_id == name
    session = read_root(provider, root).sessions[world.source_id]
    assert session.directory == "/srv/depot"
    assert session.automation is False
    assert session.parent_source_id is None


def test_an_unchanged_source_gives_nothing_and_is_not_opened(
    provider: Provider, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = read_root(provider, root).cursor
    (source,) = provider.sources(root)

    def refuse(*_: object, **__: object) -> int:
        raise AssertionError("an unchanged source was opened")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr("sqlite3.connect", refuse)
    assert list(provider.read(source, cursor)) == []


def test_a_grown_source_gives_what_is_new_with_the_old_ids_kept(
    provider: Provider, root: Path, world: World
) -> None:
    before = read_root(provider, root)
    world.grow(root)
    after = read_again(provider, root, before.cursor)
    whole = read_root(provider, root)
    fresh = [event for event in after.events if event not in before.events]
    assert [event.text for event in fresh] == ["then free some space", "Done."]
    assert before.events + fresh == whole.events
    assert after.increments[0].rewritten is (len(after.events) > len(fresh))
    assert after.sessions[world.source_id].directory == "/srv/depot"


def test_reading_again_from_an_earlier_cursor_gives_the_same(
    provider: Provider, root: Path, world: World
) -> None:
    cursor = read_root(provider, root).cursor
    world.grow(root)
    first = read_again(provider, root, cursor)
    second = read_again(provider, root, cursor)
    assert first.events
    assert first.events == second.events
    assert first.cursor == second.cursor


def test_a_cursor_survives_json_and_holds_nobodys_words(provider: Provider, root: Path) -> None:
    cursor = read_root(provider, root).cursor
    stored = msgspec.json.encode(cursor)
    assert msgspec.json.decode(stored, type=Cursor) == cursor
    assert not [word for word in WORDS if word in stored.decode()]


def test_a_missing_root_has_no_sources(provider: Provider, tmp_path: Path) -> None:
    assert list(provider.sources(tmp_path / "absent")) == []


def test_a_vanished_source_gives_nothing(provider: Provider, root: Path) -> None:
    (source,) = provider.sources(root)
    source.path.unlink()
    assert list(provider.read(source, None)) == []


def test_symbolic_links_below_the_root_are_not_followed(
    provider: Provider, root: Path, world: World, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    world.fill(elsewhere)
    for path in sorted(elsewhere.rglob("*")):
        (root / f"linked-{path.name}").symlink_to(path)
    (root / "loop").symlink_to(root, target_is_directory=True)
    assert len(list(provider.sources(root))) == 1


def test_a_source_that_became_a_link_is_refused(provider: Provider, root: Path, tmp_path: Path) -> None:
    (source,) = provider.sources(root)
    kept = tmp_path / "kept"
    source.path.rename(kept)
    source.path.symlink_to(kept)
    if provider.name == "opencode":
        assert list(provider.read(source, None)) == []
    else:
        with pytest.raises(SourceUnreadable, match=re.escape(source.relative_path)):
            list(provider.read(source, None))


def test_the_root_itself_may_be_a_link(provider: Provider, root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root, target_is_directory=True)
    assert [s.relative_path for s in provider.sources(link)] == [
        s.relative_path for s in provider.sources(root)
    ]


def test_a_directory_that_cannot_be_listed_is_named_after_all_else(
    provider: Provider, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = root / "storage" / "session" / "zz" if provider.name == "opencode" else root / "zz"
    locked.mkdir(parents=True)
    scandir = os.scandir

    def denied(path: Path) -> Iterator[os.DirEntry[str]]:
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    sources = provider.sources(root)
    assert next(sources).provider == provider.name
    with pytest.raises(SourceUnreadable) as caught:
        next(sources)
    assert caught.value.names == (locked.relative_to(root).as_posix(),)
    assert caught.value.hint


def test_default_roots_lie_in_the_home_that_is_given(provider: Provider, tmp_path: Path) -> None:
    roots = provider.default_roots(tmp_path, {})
    assert all(tmp_path in root.parents for root in roots)
    assert bool(roots) is (provider.name != "generic")
