"""Backups of a key: complete, private, and closed to who doesn't know the passphrase."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from crdt.errors import BadInput, Damaged
from mesh import identity_backup
from mesh.identity import Identity, generate
from mesh.identity_backup import decode, encode, read, write

PASSPHRASE = "a long enough passphrase, with ü"


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_backup, "SCRYPT_N", 1 << 4)


@pytest.fixture
def key() -> Identity:
    return generate(lambda: 1_780_000_000_123)


@pytest.mark.usefixtures("cheap")
@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_a_backup_gives_back_the_key_and_the_promised_one(
    tmp_path: Path, key: Identity, passphrase: str | None
) -> None:
    path = tmp_path / "key.backup"
    write(path, key, passphrase)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = read(path, passphrase)
    assert found.encode() == key.encode()
    assert found.successor().public_key == key.successor().public_key


def test_the_real_seal_costs_a_guesser_a_tenth_of_a_second_at_least(key: Identity) -> None:
    sealed = encode(key, PASSPHRASE)
    started = time.process_time()
    assert decode(sealed, PASSPHRASE).encode() == key.encode()
    assert time.process_time() - started > 0.1


@pytest.mark.usefixtures("cheap")
def test_a_sealed_backup_shows_nothing_of_the_key(key: Identity) -> None:
    sealed = encode(key, PASSPHRASE)
    for line in key.encode().decode().splitlines()[1:]:
        assert line.split()[1].encode() not in sealed
    assert encode(key, PASSPHRASE) != sealed


@pytest.mark.usefixtures("cheap")
@pytest.mark.parametrize("given", ["another passphrase", PASSPHRASE + " ", None])
def test_without_the_passphrase_it_stays_closed(key: Identity, given: str | None) -> None:
    with pytest.raises(BadInput, match="passphrase"):
        decode(encode(key, PASSPHRASE), given)


@pytest.mark.usefixtures("cheap")
def test_every_byte_of_a_sealed_backup_is_vouched_for(key: Identity) -> None:
    sealed = encode(key, PASSPHRASE)
    for at in range(len(sealed)):
        spoilt = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises((BadInput, Damaged)):
            decode(spoilt, PASSPHRASE)


@pytest.mark.usefixtures("cheap")
def test_half_a_backup_is_refused(key: Identity) -> None:
    for whole, passphrase in ((encode(key, PASSPHRASE), PASSPHRASE), (encode(key, None), None)):
        for size in range(0, len(whole), 7):
            with pytest.raises((BadInput, Damaged)):
                decode(whole[:size], passphrase)


def test_a_short_passphrase_is_refused(tmp_path: Path, key: Identity) -> None:
    with pytest.raises(BadInput, match="at least 8"):
        write(tmp_path / "key.backup", key, "short")
    assert not (tmp_path / "key.backup").exists()


def test_a_backup_takes_the_place_of_no_file(tmp_path: Path, key: Identity) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("mine")
    with pytest.raises(BadInput, match="there already"):
        write(path, key, None)
    assert path.read_text() == "mine"


def test_no_backup_is_told_apart_from_a_damaged_one(tmp_path: Path, key: Identity) -> None:
    with pytest.raises(BadInput, match="no file"):
        read(tmp_path / "absent", None)
    with pytest.raises(BadInput, match="no backup"):
        decode(b"something else", None)
    with pytest.raises(BadInput, match="no backup"):
        decode(key.encode(), None)
