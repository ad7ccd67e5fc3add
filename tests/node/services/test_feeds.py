"""Two nodes exchange feeds by file: everything reaches both, in any order, and strangers get nothing."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from crdt import feed_file, have
from crdt.entries import EntryKind, Position, parse, seal
from crdt.errors import BadInput, EntryRefused, NotAllowed
from crdt.feed_file import Loose, PageUpdate, Space
from crdt.roster import Add, encode
from node.composition import Local
from node.services.catalog import USE_CASES
from tests.node.asking import asked, items
from tests.node.filled import archive, fragment_of, ignore, opened
from tests.node.little_room import stopped_by_little_room

RECORDS = 100


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "here" / "state"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there" / "state"


def exported(root: Path, name: str, **options: object) -> Path:
    path = root.parent / name
    asked(root, "feeds.export", path=str(path), **options)
    return path


def imported(root: Path, path: Path) -> Mapping[str, object]:
    return asked(root, "feeds.import", path=str(path))


def invite(host: Path, guest: Path, space: str = "home") -> None:
    guest.parent.mkdir(parents=True, exist_ok=True)
    with opened(guest, writable=True) as local:
        local.feeds.home()
    key = asked(guest, "identity")["key"]
    asked(host, "spaces.add-member", space=space, key=key, name=guest.parent.name)


def add(root: Path, text: str, **options: object) -> str:
    return str(asked(root, "memory.add", text=text, **options)["id"])


def change(root: Path, names: list[str], word: str, *, is_second: bool) -> None:
    """Change each fourth record as a whole, in one line, by a tag, or delete it (the second node alone)."""
    with opened(root, writable=True) as local:
        for number, name in enumerate(names):
            lines = [f"line one of {number}", "line two", "line three"]
            lines[2 if is_second else 0] += f", says {word}"
            match number % 4:
                case 0:
                    ask(local, "memory.edit", id=name, text=f"{word} changed all of {number}")
                case 1:
                    ask(local, "memory.edit", id=name, text="\n".join(lines))
                case 2:
                    ask(local, "memory.tag", id=name, add=[word])
                case _ if is_second:
                    ask(local, "memory.delete", ids=[name])


def ask(local: Local, name: str, **arguments: object) -> dict[str, object]:
    """Run a use-case on a state directory that is open."""
    case = USE_CASES[name]
    return case.call(local, msgspec.convert(arguments, case.request), ignore)


def texts(root: Path) -> dict[str, str]:
    listed = items(asked(root, "memory.list", limit=500), "items")
    return {str(entry["id"]): str(entry["content"]) for entry in listed}


def digests(root: Path, label: str = "home") -> set[tuple[object, object]]:
    spaces = items(asked(root, "feeds.overview"), "spaces")
    return {(space["digest"], space["projection_digest"]) for space in spaces if space["label"] == label}


def level(here: Path, there: Path) -> bool:
    """Tell whether two nodes hold the same of the space that they share."""
    return bool(digests(here) & digests(there))


def test_what_is_kept_here_is_found_there(here: Path, there: Path) -> None:
    add(here, "the pump is primed from the north side")
    invite(here, there)
    done = imported(there, exported(here, "first"))
    assert done["refused"] == []
    assert list(texts(there).values()) == ["the pump is primed from the north side"]
    assert level(here, there)
    hits = items(asked(there, "search", query="primed pump", everywhere=True, directory="/"), "hits")
    assert [hit["text"] for hit in hits] == ["the pump is primed from the north side"]


def test_concurrent_edits_and_deletions_reach_both_in_any_order_and_twice(here: Path, there: Path) -> None:
    with opened(here, writable=True) as local:
        said = [f"line one of {number}\nline two\nline three" for number in range(RECORDS)]
        names = [str(ask(local, "memory.add", text=text)["id"]) for text in said]
    invite(here, there)
    imported(there, exported(here, "start"))
    change(here, names, "here", is_second=False)
    change(there, names, "there", is_second=True)
    generator = random.Random(3)  # noqa: S311 - a replayable choice
    files = [exported(here, "mine"), exported(there, "theirs"), exported(there, "theirs again")]
    for root in (here, there):
        order = files * 2
        generator.shuffle(order)
        for path in order:
            imported(root, path)
    assert level(here, there)
    for root in (here, there):
        held = texts(root)
        assert names[3] not in held
        assert held[names[1]] == "line one of 1, says here\nline two\nline three, says there"
        conflicts = items(asked(root, "memory.conflicts"), "items")
        assert {entry["id"] for entry in conflicts} == set(names[0::4])
        tagged = asked(root, "memory.get", id=names[2])["tags"]
        assert tagged == ["here", "there"]


def test_conversations_come_along(here: Path, there: Path) -> None:
    archive(here, fragment_of("sealed", ["the sluice opens at dawn"]))
    archive(here, fragment_of("waiting", ["the weir is cleaned on friday"]), seal=False)
    invite(here, there)
    imported(there, exported(here, "first"))
    for query in ("sluice dawn", "weir friday"):
        hits = items(asked(there, "search", query=query, everywhere=True, directory="/"), "hits")
        assert len(hits) == 1
    assert asked(there, "status")["digest"] == asked(here, "status")["digest"]


def test_conversations_that_are_left_out_come_later(here: Path, there: Path) -> None:
    archive(here, fragment_of("sealed", ["the sluice opens at dawn"]))
    invite(here, there)
    imported(there, exported(here, "first", with_archive=False))
    assert asked(there, "verify")["absent"] == 1
    assert asked(there, "verify")["ok"] is True
    imported(there, exported(here, "second"))
    assert asked(there, "status")["digest"] == asked(here, "status")["digest"]
    assert asked(there, "verify")["absent"] == 0


@pytest.mark.parametrize("harm", ["changed", "cut", "missing"])
@pytest.mark.parametrize("maker", ["here", "there"])
def test_a_segment_that_was_damaged_is_had_again_from_an_export(
    here: Path, there: Path, maker: str, harm: str
) -> None:
    archive(here, fragment_of("one", ["the sluice opens at dawn"]))
    archive(here, fragment_of("other", ["the weir is cleaned on friday"]))
    invite(here, there)
    imported(there, exported(here, "first"))
    file = exported({"here": here, "there": there}[maker], "copy")
    before = asked(here, "status")["digest"]
    damaged, whole = sorted((here / "canonical" / "segments").rglob("*.zst"))
    data, inode = damaged.read_bytes(), whole.stat().st_ino
    if harm == "missing":
        damaged.unlink()
    else:
        damaged.write_bytes(data[:-9] if harm == "cut" else data[:-1] + bytes([data[-1] ^ 4]))
    (found,) = items(asked(here, "verify"), "damage")
    assert "feeds import" in str(found["hint"])
    # The index is made anew without it, and takes it in when it comes.
    assert asked(here, "rebuild")["damaged_segments"] == 1
    report = imported(here, file)
    assert report["blobs"] == {"known": 1, "taken": 1}
    assert asked(here, "verify")["ok"] is True
    assert (damaged.read_bytes(), whole.stat().st_ino) == (data, inode)
    assert asked(here, "status")["digest"] == before
    for query in ("sluice dawn", "weir friday"):
        assert len(items(asked(here, "search", query=query, everywhere=True, directory="/"), "hits")) == 1


def test_a_stranger_takes_nothing(here: Path, there: Path) -> None:
    add(here, "only for members")
    path = exported(here, "first")
    with pytest.raises(NotAllowed, match="home") as refusal:
        imported(there, path)
    assert "spaces members add" in refusal.value.hint
    assert texts(there) == {}


def test_who_was_removed_is_told_so_and_of_another_space_nothing_is_lost(here: Path, there: Path) -> None:
    asked(here, "spaces.create", label="team")
    invite(here, there)
    invite(here, there, "team")
    key = asked(there, "identity")["key"]
    asked(here, "spaces.remove-member", space="team", key=key)
    add(here, "for all who belong to it")
    done = imported(there, exported(here, "both"))
    (left,) = items(done, "passedOver")
    assert (left["label"], left["why"]) == ("team", "this node was removed from team")
    assert "spaces members add team" in str(left["hint"])
    assert list(texts(there).values()) == ["for all who belong to it"]
    with pytest.raises(NotAllowed, match="removed from team"):
        imported(there, exported(here, "team alone", spaces=["team"]))


def without_rosters(path: Path) -> None:
    """Leave of a file of feeds only what is neither the genesis of a space nor about its members."""
    parts = list(feed_file.read(path))
    raws = [raw for item in parts if isinstance(item, PageUpdate | Loose) for raw in feed_file.raws_of(item)]
    others = [raw for raw in raws if parse(raw).kind not in (EntryKind.GENESIS, EntryKind.ROSTER)]
    spaces = [item for item in parts if isinstance(item, Space)]
    feed_file.write(path, [*spaces, Loose(entries=others)])


def test_entries_of_a_space_that_nobody_here_knows_are_counted_and_named(here: Path, there: Path) -> None:
    invite(here, there)
    add(here, "first")
    add(here, "second")
    path = exported(here, "headless", with_archive=False)
    without_rosters(path)
    done = imported(there, path)
    (left,) = items(done, "passedOver")
    assert str(left["why"]).startswith("2 entries are of the space ")
    assert f"feeds export FILE --space {left['space']}" in str(left["hint"])
    assert (done["entries"], done["spaces"]) == (0, [])


def test_entries_of_a_space_that_is_here_need_no_beginning_in_the_file(here: Path, there: Path) -> None:
    invite(here, there)
    imported(there, exported(here, "first"))
    add(here, "later")
    path = exported(here, "headless", with_archive=False)
    without_rosters(path)
    assert imported(there, path)["passedOver"] == []
    assert list(texts(there).values()) == ["later"]


def test_a_key_that_was_revoked_is_not_advised_to_be_added(here: Path, there: Path, tmp_path: Path) -> None:
    invite(here, there)
    imported(there, exported(here, "first"))
    stolen = (there / "identity.key").read_bytes()
    asked(there, "identity.revoke", apply=True)
    imported(here, exported(there, "revoked"))
    path = exported(here, "second")
    thief = tmp_path / "thief" / "state"
    with opened(thief, writable=True) as local:
        local.paths.identity.write_bytes(stolen)
        local.paths.identity.chmod(0o600)
    with pytest.raises(NotAllowed, match="revoked in home") as refusal:
        imported(thief, path)
    assert "members add" not in refusal.value.hint
    assert "identity restore" in refusal.value.hint


def test_what_is_private_is_never_written(here: Path, there: Path) -> None:
    add(here, "a secret thought", private=True)
    invite(here, there)
    with pytest.raises(BadInput, match="never leaves"):
        exported(here, "private", spaces=["private"])
    path = exported(here, "all")
    assert b"a secret thought" not in path.read_bytes()
    imported(there, path)
    assert texts(there) == {}


def test_little_room_stops_an_import_and_the_same_file_goes_on_later(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        add(here, f"note {number}")
    archive(here, fragment_of("one", ["the sluice opens at dawn"]))
    invite(here, there)
    file = exported(here, "file")
    for looks in (0, 3):
        with stopped_by_little_room(looks):
            imported(there, file)
        with opened(there) as local:
            assert (len(local.feeds.spaces()) > 2) == bool(looks)
    assert imported(there, file)["known"]
    assert level(here, there)
    assert asked(there, "verify")["absent"] == 0


def test_a_file_that_was_cut_is_refused_whole(here: Path, there: Path) -> None:
    add(here, "first")
    invite(here, there)
    path = exported(here, "cut")
    data = path.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 25)):
        path.write_bytes(data[:size])
        with pytest.raises(EntryRefused):
            imported(there, path)
    assert texts(there) == {}


def test_an_entry_that_was_changed_on_the_way_is_refused_and_the_rest_is_taken(
    here: Path, there: Path
) -> None:
    add(here, "first")
    invite(here, there)
    add(here, "second")
    path = exported(here, "forged")
    parts = list(feed_file.read(path))
    raws = [raw for item in parts if isinstance(item, PageUpdate | Loose) for raw in feed_file.raws_of(item)]
    last = bytearray(raws[-1])
    last[-1] ^= 1
    spaces = [item for item in parts if not isinstance(item, PageUpdate | Loose)]
    feed_file.write(path, [*spaces, Loose(entries=[*raws[:-1], bytes(last)])])
    done = imported(there, path)
    assert len(done["refused"]) == 1  # type: ignore[arg-type]
    assert list(texts(there).values()) == ["first"]


def test_own_entries_that_come_home_begin_a_new_incarnation(here: Path, there: Path, tmp_path: Path) -> None:
    add(here, "before the backup")
    invite(here, there)
    asked(here, "backup", path=str(tmp_path / "backup"))
    add(here, "after the backup")
    imported(there, exported(here, "all"))
    restored = tmp_path / "restored" / "state"
    restored.parent.mkdir()
    with opened(restored, writable=False) as local:
        local.paths.create()
    restore_into(tmp_path / "backup", restored, key_of=here)
    add(restored, "written before anything came back")
    done = imported(restored, exported(there, "back"))
    assert done["own"] == 1
    add(restored, "written after")
    assert set(texts(restored).values()) == {
        "before the backup", "after the backup", "written before anything came back", "written after",
    }  # fmt: skip
    imported(there, exported(restored, "forth"))
    assert level(restored, there)
    spaces = items(asked(there, "feeds.overview"), "spaces")
    assert not any(feed["forked"] for space in spaces for feed in items(space, "feeds"))


def restore_into(backup: Path, root: Path, *, key_of: Path) -> None:
    """Restore a backup on a fresh disk, the key brought along by hand."""
    from node.services.restore import restore
    from tests.node.filled import settings

    paths = settings(root).paths
    paths.identity.write_bytes((key_of / "identity.key").read_bytes())
    paths.identity.chmod(0o600)
    restore(backup, paths, ignore, replace=False)


class Forger:
    """Signs as somebody whose key it does not have."""

    def __init__(self, public_key: bytes) -> None:
        self.public_key = public_key

    def sign(self, message: bytes) -> bytes:
        return message[:64]


def test_a_membership_that_the_owner_did_not_sign_opens_no_space(
    here: Path, there: Path, tmp_path: Path
) -> None:
    asked(here, "spaces.create", label="team")
    with opened(there, writable=True) as local:
        stranger = local.identity.public_key
    parts = list(feed_file.read(exported(here, "feeds", spaces=["team"])))
    named = next(item.space for item in parts if isinstance(item, feed_file.Space))
    with opened(here, writable=True) as local:
        (head,) = local.feeds.heads(named)
        (genesis,) = local.feeds.feed_entries(head.feed)
    said = encode(Add(member=stranger, rights=["read", "append"], name="stranger"))
    position = Position(feed=genesis.feed, seq=2, prev=genesis.hash, hlc=genesis.hlc + 1)
    forged = seal(EntryKind.ROSTER, said, position, Forger(genesis.author))
    path = tmp_path / "forged"
    feed_file.write(path, [*parts, Loose(entries=[forged.raw])])
    with pytest.raises(NotAllowed, match="no member of team"):
        imported(there, path)


def test_a_file_of_more_feeds_than_a_vector_has_is_still_one(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invite(here, there)
    monkeypatch.setattr(have, "FEEDS_MAX", 1)
    for number in range(3):
        (here / "incarnation").unlink(missing_ok=True)
        add(here, f"note {number}")
    report = imported(there, exported(here, "feeds"))
    assert report["refused"] == []
    assert len(texts(there)) == 3
