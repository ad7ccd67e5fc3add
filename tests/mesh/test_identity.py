"""The key's file: private, whole or absent, never replaced by accident, and mute about its secrets."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from crdt.entries import verify
from crdt.errors import Damaged, NotFound, Unavailable
from crdt.keys import commitment, is_acceptable, node_id
from mesh import identity
from mesh.identity import Identity, load, load_or_create

NOW_MS = 1_780_000_000_123


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "identity.key"


def made(path: Path) -> Identity:
    return load_or_create(path, lambda: NOW_MS)


def names_beside(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.iterdir())


def fields(found: Identity) -> tuple[object, ...]:
    return found.public_key, found.next_commitment, found.has_next, found.created_ms, found.replaces


def test_a_new_key_is_private_and_read_again_as_it_was(path: Path) -> None:
    first = made(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert fields(made(path)) == fields(load(path)) == fields(first)
    assert first.created_ms == NOW_MS
    assert is_acceptable(first.public_key)
    assert names_beside(path) == [path.name]


def test_two_keys_are_never_the_same(tmp_path: Path) -> None:
    one, other = made(tmp_path / "a"), made(tmp_path / "b")
    assert one.public_key != other.public_key
    assert one.next_commitment != other.next_commitment


def test_what_it_signs_verifies(path: Path) -> None:
    key = made(path)
    assert verify(key.public_key, key.sign(b"said"), b"said")
    assert not verify(key.public_key, key.sign(b"said"), b"other")


def test_a_key_shows_no_secret(path: Path) -> None:
    key = made(path)
    secrets = [line.split()[1] for line in path.read_text().splitlines() if "seed " in line]
    assert len(secrets) == 2
    shown = f"{key!r} {key} {[key]} {vars(type(key))}"
    assert not any(secret in shown or bytes.fromhex(secret) in shown.encode() for secret in secrets)


def test_creating_does_not_replace_what_is_there(path: Path) -> None:
    key = made(path)
    with pytest.raises(FileExistsError):
        identity.create(path, identity.generate())
    assert load(path).public_key == key.public_key
    assert names_beside(path) == [path.name]


def test_the_successor_is_the_key_that_was_promised(path: Path) -> None:
    key = made(path)
    after = key.successor(lambda: NOW_MS + 1)
    assert commitment(after.public_key) == key.next_commitment
    assert after.replaces == key.public_key
    assert after.next_commitment != key.next_commitment
    identity.replace(path, after)
    assert fields(load(path)) == fields(after)
    assert load(path).settled().replaces is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_the_promised_key_there_is_no_successor(path: Path) -> None:
    kept = made(path).without_next()
    identity.replace(path, kept)
    found = load(path)
    assert not found.has_next
    assert found.next_commitment == kept.next_commitment
    assert "next-seed" not in path.read_text()
    with pytest.raises(NotFound, match="promised"):
        found.successor()


def flip(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def test_no_flipped_bit_gives_another_identity(path: Path) -> None:
    key = made(path)
    whole = path.read_bytes()
    for bit in range(len(whole) * 8):
        try:
            found = identity.decode(flip(whole, bit))
        except Damaged:
            continue
        # Nothing vouches for the instant, which only people read.
        assert (found.public_key, found.next_commitment) == (key.public_key, key.next_commitment)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:0],
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + data,
        lambda data: data.replace(b"atrium-identity 1", b"atrium-identity 2"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data + b"note x\n",
        lambda data: data + b"\xff",
        lambda data: bytes(len(data) * 20),
    ],
)
def test_a_damaged_file_is_an_error_and_stays(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    made(path)
    spoilt = spoil(path.read_bytes())
    path.write_bytes(spoilt)
    with pytest.raises(Damaged) as caught:
        made(path)
    assert "identity restore" in caught.value.hint
    assert caught.value.__cause__ is None
    assert path.read_bytes() == spoilt
    assert names_beside(path) == [path.name]


def test_the_seed_of_another_key_is_damage(tmp_path: Path) -> None:
    one, other = made(tmp_path / "a"), made(tmp_path / "b")
    mixed = one.encode().replace(node_id(one.public_key).encode(), node_id(other.public_key).encode())
    with pytest.raises(Damaged):
        identity.decode(mixed)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_key_that_others_may_read_is_refused(path: Path, mode: int) -> None:
    made(path)
    path.chmod(mode)
    with pytest.raises(Unavailable, match="open to other users"):
        made(path)


def test_what_is_no_file_is_refused(path: Path, tmp_path: Path) -> None:
    made(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable, match="link"):
        made(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(Unavailable, match="not a file"):
        made(path)
    path.rmdir()
    os.mkfifo(path, 0o600)
    with pytest.raises(Unavailable, match="not a file"):
        made(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_is_refused(path: Path) -> None:
    made(path)
    os.chown(path, 12345, 12345)
    with pytest.raises(Unavailable, match="another user"):
        made(path)


def test_a_writer_that_dies_leaves_no_half_key(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        made(path)
    assert names_beside(path) == []


def test_there_is_no_key_to_load(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(path)
