"""A node's key and the promised one in a file for elsewhere, sealed with a passphrase if wanted.

    atrium-identity-backup 1        followed by the text of `identity`
    atrium-identity-backup 1 sealed
    salt <32 hex>
    nonce <24 hex>
    <base64 of ChaCha20-Poly1305(that text), in lines>

The key of the seal is scrypt(passphrase, salt) with the bounds below, which belong to version 1 and are not
read from the file: a file could otherwise name costs that nobody can pay, or none.  The lines above the
base64 are authenticated with it.
"""

from __future__ import annotations

import base64
import os
import secrets
import textwrap
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from crdt.errors import BadInput, Damaged
from crdt.sqlite import fsync_directory
from mesh import identity
from mesh.identity import Identity

FILE_BYTES_MAX = 16 << 10
PASSPHRASE_CHARS_MIN = 8
SCRYPT_N, SCRYPT_R, SCRYPT_P = 1 << 17, 8, 1
"""128 MiB and about half a second a try, what OWASP's password storage sheet asks for."""
_SALT_BYTES = 16
_NONCE_BYTES = 12
_LINE_CHARS = 76
_PLAIN = b"atrium-identity-backup 1\n"
_SEALED = b"atrium-identity-backup 1 sealed\n"
_AGAIN = "take another copy of the backup, or ask whoever made it"


def write(path: Path, kept: Identity, passphrase: str | None) -> None:
    """Write a backup to a new file, 0600, durable when this returns; raises `BadInput` where one is."""
    data = encode(kept, passphrase)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise BadInput(f"{path} is there already", hint="name a file that is not there yet") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise
    fsync_directory(path.parent)


def read(path: Path, passphrase: str | None) -> Identity:
    """Read a backup; raises `BadInput` for a wrong or missing passphrase, and `Damaged`."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise BadInput(
            f"there is no file {path}", hint="name the file of `atrium identity backup`"
        ) from error
    return decode(data, passphrase)


def encode(kept: Identity, passphrase: str | None) -> bytes:
    """Write a backup's bytes; raises `BadInput` for a passphrase that is too short."""
    if passphrase is None:
        return _PLAIN + kept.encode()
    if len(passphrase) < PASSPHRASE_CHARS_MIN:
        raise BadInput(
            f"a passphrase has at least {PASSPHRASE_CHARS_MIN} characters", hint="take a longer one"
        )
    salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
    sealed = ChaCha20Poly1305(_key(passphrase, salt)).encrypt(nonce, kept.encode(), _head(salt, nonce))
    return _spell(salt, nonce, sealed)


def decode(data: bytes, passphrase: str | None) -> Identity:
    """Read a backup's bytes; raises as `read` does."""
    if is_sealed(data):
        if passphrase is None:
            raise BadInput(
                "this backup is sealed with a passphrase",
                hint="give it by --passphrase or --passphrase-stdin",
            )
        return identity.decode(_open(data, passphrase))
    if not data.startswith(_PLAIN):
        raise BadInput("this is no backup of a node's key", hint="name the file of `atrium identity backup`")
    return identity.decode(data.removeprefix(_PLAIN))


def is_sealed(data: bytes) -> bool:
    """Tell whether a backup needs a passphrase."""
    return data.startswith(_SEALED)


def _open(data: bytes, passphrase: str) -> bytes:
    try:
        salt, nonce, sealed = _parts(data)
        opener = ChaCha20Poly1305(_key(passphrase, salt))
        return opener.decrypt(nonce, sealed, _head(salt, nonce))
    except ValueError as error:
        raise Damaged("this backup of a node's key is damaged", hint=_AGAIN) from error
    except InvalidTag as error:
        raise BadInput(
            "the passphrase is not this backup's, or the file is damaged", hint="try the passphrase again"
        ) from error


def _parts(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Read salt, nonce and sealed text; raises `ValueError` for any spelling but the one of `_spell`."""
    _, salt, nonce, *lines = data.decode("ascii").split("\n")
    sealed = base64.b64decode("".join(lines), validate=True)
    parts = bytes.fromhex(salt.removeprefix("salt ")), bytes.fromhex(nonce.removeprefix("nonce ")), sealed
    if _spell(*parts) != data:
        raise ValueError
    return parts


def _spell(salt: bytes, nonce: bytes, sealed: bytes) -> bytes:
    lines = textwrap.wrap(base64.b64encode(sealed).decode("ascii"), _LINE_CHARS)
    return _head(salt, nonce) + "".join(f"{line}\n" for line in lines).encode("ascii")


def _head(salt: bytes, nonce: bytes) -> bytes:
    return _SEALED + f"salt {salt.hex()}\nnonce {nonce.hex()}\n".encode("ascii")


def _key(passphrase: str, salt: bytes) -> bytes:
    scrypt = Scrypt(salt=salt, length=32, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P)
    return scrypt.derive(passphrase.encode("utf-8"))
