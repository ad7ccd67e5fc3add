"""Identity: what is shown, what a backup gives back, and that a revoked key leaves nothing behind."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from crdt.errors import BadInput, Damaged, NotFound, StateBusy
from crdt.keys import fingerprint, node_id
from mesh import identity, identity_backup, member_key
from mesh.identity import Identity, generate, load
from node.composition import open_local
from node.services.space_requests import IdentityRevoke
from tests.node.asking import asked, items, part
from tests.node.filled import ignore, opened, settings, tree

PASSPHRASE = "a long enough passphrase"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_backup, "SCRYPT_N", 1 << 4)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a state directory with the three spaces home, private and team."""
    state = tmp_path / "state"
    asked(state, "spaces.create", label="team")
    return state


def key_of(root: Path) -> Identity:
    return load(root / "identity.key")


def test_showing_tells_the_public_half_and_what_it_is_for(root: Path) -> None:
    shown, key = asked(root, "identity"), key_of(root)
    assert (shown["node"], shown["fingerprint"]) == (node_id(key.public_key), fingerprint(key.public_key))
    handed_out = member_key.parse(str(shown["key"]))
    assert (handed_out.key, handed_out.promise) == (key.public_key, key.next_commitment)
    assert [space["label"] for space in items(shown, "spaces")] == ["home", "private", "team"]
    assert (shown["nextKey"], shown["former"]) == ("here", [])
    secrets = [line.split()[1] for line in key.encode().decode().splitlines() if "seed" in line]
    assert not any(secret in str(shown) for secret in secrets)


def test_before_the_first_write_there_is_no_identity_and_looking_makes_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        asked(tmp_path / "state", "identity")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_a_backup_gives_the_same_identity_to_an_empty_state(
    root: Path, tmp_path: Path, passphrase: str | None
) -> None:
    path, other = tmp_path / "key.backup", tmp_path / "other"
    before = tree(root)
    made = asked(root, "identity.backup", path=str(path), passphrase=passphrase)
    assert tree(root) == before
    assert (made["sealed"], made["nextKey"]) == (passphrase is not None, "here")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    restored = asked(other, "identity.restore", path=str(path), passphrase=passphrase)
    assert restored["restored"] is True
    assert key_of(other).encode() == key_of(root).encode()
    assert asked(other, "identity.restore", path=str(path), passphrase=passphrase)["restored"] is False


def test_the_promised_key_can_be_taken_off_the_machine_and_stay_off(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "key.backup"
    whole = key_of(root)
    assert asked(root, "identity.backup", path=str(path), take_next=True)["nextKey"] == "elsewhere"
    kept = key_of(root)
    assert (kept.public_key, kept.next_commitment) == (whole.public_key, whole.next_commitment)
    assert not kept.has_next
    assert identity_backup.read(path, None).encode() == whole.encode()
    with pytest.raises(NotFound):
        asked(root, "identity.backup", path=str(tmp_path / "again"), take_next=True)
    assert not (tmp_path / "again").exists()
    other = tmp_path / "other"
    assert asked(other, "identity.restore", path=str(path), leave_next=True)["nextKey"] == "elsewhere"
    assert not key_of(other).has_next


def test_a_backup_lies_outside_the_state_directory(root: Path) -> None:
    for place in (root / "key", root / "status" / "key", root / "status" / ".." / "key"):
        with pytest.raises(BadInput, match="state directory"):
            asked(root, "identity.backup", path=str(place))


def test_a_backup_that_can_not_be_written_takes_nothing_away(root: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        asked(root, "identity.backup", path=str(tmp_path / "absent" / "key"), take_next=True)
    (tmp_path / "taken").touch()
    with pytest.raises(BadInput):
        asked(root, "identity.backup", path=str(tmp_path / "taken"), take_next=True)
    assert key_of(root).has_next


def test_a_key_is_not_replaced_by_another_s_backup(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "key.backup"
    identity_backup.write(path, generate(), None)
    before = tree(root)
    with pytest.raises(BadInput, match="another key"):
        asked(root, "identity.restore", path=str(path))
    assert tree(root) == before


def test_a_damaged_key_stops_writers_and_no_second_one_is_made(root: Path) -> None:
    (root / "identity.key").write_bytes(b"atrium-identity 1\n")
    before = tree(root)
    with pytest.raises(Damaged):
        asked(root, "spaces.create", label="other")
    assert tree(root) == before
    assert [space["label"] for space in items(asked_spaces(root), "spaces")] == ["home", "private", "team"]


def asked_spaces(root: Path) -> dict[str, object]:
    """List spaces where the key can't be read."""
    with opened(root) as local:
        found = [{"label": one.label} for one in local.feeds.spaces().values()]
    return {"spaces": found}


def test_a_state_that_came_without_its_key_gets_a_new_one_and_says_so(root: Path) -> None:
    former = key_of(root).public_key
    (root / "identity.key").unlink()
    asked(root, "spaces.create", label="own")
    shown = asked(root, "identity")
    assert shown["former"] == [node_id(former)]
    assert shown["node"] != node_id(former)
    mine = {str(one["label"]): one["mine"] for one in items(asked(root, "spaces"), "spaces") if one["mine"]}
    assert sorted(mine) == ["home", "own", "private"]
    assert len(items(asked(root, "spaces"), "spaces")) == 6


def test_a_revocation_is_first_only_told(root: Path) -> None:
    before = tree(root)
    told = asked(root, "identity.revoke")
    assert told["applied"] is False
    assert part(told, "old")["node"] == node_id(key_of(root).public_key)
    assert part(told, "new")["node"] == node_id(key_of(root).successor().public_key)
    assert [space["label"] for space in items(told, "spaces")] == ["home", "private", "team"]
    assert tree(root) == before


def with_key_here(root: Path, _backup: Path) -> dict[str, object]:
    return {}


def with_backup(root: Path, backup: Path) -> dict[str, object]:
    asked(root, "identity.backup", path=str(backup), passphrase=PASSPHRASE, take_next=True)
    return {"source": str(backup), "passphrase": PASSPHRASE}


@pytest.mark.parametrize("prepare", [with_key_here, with_backup])
def test_the_promised_key_takes_everything_over(
    root: Path, tmp_path: Path, prepare: Callable[[Path, Path], dict[str, object]]
) -> None:
    old = key_of(root)
    ids = {space["id"] for space in items(asked(root, "spaces"), "spaces")}
    done = asked(root, "identity.revoke", apply=True, **prepare(root, tmp_path / "key.backup"))
    new = key_of(root)
    assert done["applied"] is True
    assert part(done, "new")["node"] == node_id(new.public_key)
    assert new.replaces is None
    assert new.has_next
    spaces = items(asked(root, "spaces"), "spaces")
    assert {space["id"] for space in spaces} == ids
    assert all(space["mine"] for space in spaces)
    with opened(root, writable=True) as local:
        for found in local.feeds.spaces().values():
            assert found.members[old.public_key].removed
            assert found.promise_of(new.public_key) == new.next_commitment
            assert found.is_void(old.public_key, 9, 1)
        assert local.feeds.home().hex() in ids
    asked(root, "spaces.create", label="after")
    assert asked(root, "identity")["former"] == []


def test_a_key_can_be_revoked_again_and_again(root: Path) -> None:
    seen = {key_of(root).public_key}
    for _ in range(3):
        asked(root, "identity.revoke", apply=True)
        seen.add(key_of(root).public_key)
    assert len(seen) == 4
    assert all(space["mine"] for space in items(asked(root, "spaces"), "spaces"))


def test_without_the_promised_key_nothing_can_be_revoked(root: Path, tmp_path: Path) -> None:
    identity.replace(root / "identity.key", key_of(root).without_next())
    before = tree(root)
    with pytest.raises(NotFound, match="promised"):
        asked(root, "identity.revoke", apply=True)
    identity_backup.write(tmp_path / "other", generate(), None)
    with pytest.raises(BadInput, match="another key"):
        asked(root, "identity.revoke", apply=True, source=str(tmp_path / "other"))
    assert tree(root) == before


def test_a_space_that_was_never_told_the_promise_is_named(root: Path) -> None:
    member = generate()
    asked(root, "spaces.add-member", space="home", key=node_id(member.public_key))
    identity.replace(root / "identity.key", member)
    told = asked(root, "identity.revoke")
    assert items(told, "spaces") == []
    assert [space["label"] for space in items(told, "unpromised")] == ["home"]


def test_a_running_node_keeps_its_key(root: Path) -> None:
    with pytest.raises(StateBusy) as caught:
        revoke_as_node(root)
    assert "atrium down" in caught.value.hint
    assert key_of(root).replaces is None


def revoke_as_node(root: Path) -> None:
    from node.services.identity import revoke

    local = open_local(settings(root), writable=True, served_by="node")
    try:
        revoke(local, IdentityRevoke(apply=True), ignore)
    finally:
        local.close()
