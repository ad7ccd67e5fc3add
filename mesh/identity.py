"""This node's key, its successor that is promised in advance, and the file that holds both.

The file is text, 0600, and made whole or not at all:

    atrium-identity 1
    node <node id>                  the public half, against a damaged seed
    created <RFC 3339>
    seed <64 hex>
    next-commitment <64 hex>        SHA-256 of the public half of the key that may follow
    next-seed <64 hex>              until a backup took it away
    replaces <node id>              while the entries that revoke that key are not all written

Who steals the machine finds the key; who steals the key can't replace it, since only the promised one can,
and that is elsewhere once a backup took it.  A file that can't be used is an error: a second identity beside
the first would split what a person owns in two.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from crdt.clock import wall_ms
from crdt.errors import BadInput, Damaged, NotFound, Unavailable
from crdt.keys import KEY_BYTES, commitment, fingerprint, node_id, parse_node_id
from crdt.sqlite import fsync_directory

FILE_BYTES_MAX = 4096
OPEN_TO_OTHERS = 0o077
_HEAD = "atrium-identity 1"
_MEND = "move the file away and run `atrium identity restore FILE` with a backup of the key"


class Identity:
    """A node's key with its promised successor; satisfies `crdt.keys.Signer` and never shows a secret."""

    __slots__ = ("_next_seed", "_private", "_seed", "created_ms", "next_commitment", "public_key", "replaces")

    def __init__(
        self,
        seed: bytes,
        *,
        next_seed: bytes | None,
        next_commitment: bytes,
        created_ms: int,
        replaces: bytes | None = None,
    ) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._seed = seed
        self._next_seed = next_seed
        self.public_key = self._private.public_key().public_bytes_raw()
        self.next_commitment = next_commitment
        self.created_ms = created_ms
        self.replaces = replaces
        """The key that this one takes the place of, until every space has been told."""

    def __repr__(self) -> str:
        """Name the key as people do."""
        return f"<Identity {fingerprint(self.public_key)}>"

    @property
    def has_next(self) -> bool:
        """Tell whether the promised key is still on this machine."""
        return self._next_seed is not None

    def sign(self, message: bytes) -> bytes:
        """Sign with Ed25519; 64 bytes, the same for the same message."""
        return self._private.sign(message)

    def without_next(self) -> Identity:
        """Give the same identity whose promised key is elsewhere."""
        return Identity(
            self._seed,
            next_seed=None,
            next_commitment=self.next_commitment,
            created_ms=self.created_ms,
            replaces=self.replaces,
        )

    def settled(self) -> Identity:
        """Give the same identity with nothing left to be told about its predecessor."""
        return Identity(
            self._seed,
            next_seed=self._next_seed,
            next_commitment=self.next_commitment,
            created_ms=self.created_ms,
        )

    def successor(self, now_ms: Callable[[], int] = wall_ms) -> Identity:
        """Make the promised key an identity that replaces this one and promises a fresh one.

        Raises `NotFound` where the promised key was taken to a backup.
        """
        if self._next_seed is None:
            raise NotFound(
                "the key that was promised to follow is not on this machine",
                hint="name the backup that has it: `atrium identity revoke --from FILE`",
            )
        return _promise(self._next_seed, now_ms(), replaces=self.public_key)

    def encode(self) -> bytes:
        """Write the file's text, secrets included."""
        lines = [
            _HEAD,
            f"node {node_id(self.public_key)}",
            f"created {_spell(self.created_ms)}",
            f"seed {self._seed.hex()}",
            f"next-commitment {self.next_commitment.hex()}",
        ]
        if self._next_seed is not None:
            lines.append(f"next-seed {self._next_seed.hex()}")
        if self.replaces is not None:
            lines.append(f"replaces {node_id(self.replaces)}")
        return ("\n".join(lines) + "\n").encode("ascii")


def generate(now_ms: Callable[[], int] = wall_ms) -> Identity:
    """Make a new identity and the key that may follow it."""
    return _promise(secrets.token_bytes(KEY_BYTES), now_ms(), replaces=None)


def decode(data: bytes) -> Identity:
    """Read the file's text; raises `Damaged` for anything but a whole and coherent one."""
    try:
        found = _decode(data)
    except (ValueError, KeyError, BadInput):
        # What was wrong with it would quote a secret.
        raise Damaged("the node's key can't be read: its file is damaged", hint=_MEND) from None
    return found


def load(path: Path) -> Identity:
    """Read the key's file.

    Raises `FileNotFoundError` where there is none, `Unavailable` where it is open to others, another user's
    or can't be read, and `Damaged`.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise Unavailable(f"{path} can't be read: {reason}", hint=_MEND) from error
    try:
        _refuse_strange(path, os.fstat(descriptor))
        return decode(os.read(descriptor, FILE_BYTES_MAX))
    finally:
        os.close(descriptor)


def create(path: Path, identity: Identity) -> None:
    """Put a key where there is none: durable when this returns; raises `FileExistsError`."""
    draft = _write_beside(path, identity)
    try:
        # A link, unlike a rename, never takes the place of what another process put there.
        os.link(draft, path)
    finally:
        draft.unlink()
    fsync_directory(path.parent)


def replace(path: Path, identity: Identity) -> None:
    """Put a key in the place of the present one, in one step; durable when this returns.

    Only for who holds the state's lock.
    """
    draft = _write_beside(path, identity)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink()
        raise
    fsync_directory(path.parent)


def load_or_create(path: Path, now_ms: Callable[[], int] = wall_ms) -> Identity:
    """Read this node's key, or make one where there is none; only for who holds the state's lock.

    Raises what `load` raises: a key that can't be used is never replaced.
    """
    try:
        return load(path)
    except FileNotFoundError:
        made = generate(now_ms)
    try:
        create(path, made)
    except FileExistsError:
        return load(path)
    return made


def _promise(seed: bytes, now_ms: int, *, replaces: bytes | None) -> Identity:
    next_seed = secrets.token_bytes(KEY_BYTES)
    return Identity(
        seed,
        next_seed=next_seed,
        next_commitment=_commitment_of(next_seed),
        created_ms=now_ms,
        replaces=replaces,
    )


def _commitment_of(seed: bytes) -> bytes:
    return commitment(Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw())


def _decode(data: bytes) -> Identity:
    head, *lines = data.decode("ascii").splitlines()
    said = dict(line.split(" ", 1) for line in lines)
    if head != _HEAD or not data.endswith(b"\n") or len(said) != len(lines):
        raise ValueError
    next_seed = bytes.fromhex(said["next-seed"]) if "next-seed" in said else None
    replaces = parse_node_id(said["replaces"]) if "replaces" in said else None
    found = Identity(
        bytes.fromhex(said["seed"]),
        next_seed=next_seed,
        next_commitment=bytes.fromhex(said["next-commitment"]),
        created_ms=round(datetime.fromisoformat(said["created"]).timestamp() * 1000),
        replaces=replaces,
    )
    if found.encode() != data:
        raise ValueError
    if next_seed is not None and _commitment_of(next_seed) != found.next_commitment:
        raise ValueError
    return found


def _refuse_strange(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unavailable(f"{path} is not a file", hint=_MEND)
    if found.st_uid != os.geteuid():
        raise Unavailable(
            f"{path} belongs to another user", hint="run the command as the user whose state this is"
        )
    if found.st_mode & OPEN_TO_OTHERS:
        raise Unavailable(
            f"{path} is open to other users, who may have copied the node's key",
            hint=f"`chmod 600 {path}`; if others could read it, `atrium identity revoke` as well",
        )


def _write_beside(path: Path, identity: Identity) -> Path:
    """Write a key durably to a new file (O_EXCL, 0600) in the same directory."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.new-", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(identity.encode())
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        draft.unlink()
        raise
    return draft


def _spell(created_ms: int) -> str:
    moment = datetime.fromtimestamp(created_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
