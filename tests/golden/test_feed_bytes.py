"""The bytes of feeds may never change: nodes of all versions sign, compare and exchange them.

`feeds.json` holds, for one key and fixed clocks, every form in which feeds are kept or travel.  A change of
this table needs an agreement with every linked node, and no migration can make old signatures anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from crdt import feed_file, have, operations, pages, roster
from crdt.entries import ZERO, Entry, EntryKind, parse
from crdt.feed_file import Blob, Space
from crdt.have import Held
from crdt.keys import fingerprint, node_id
from crdt.operations import Operation, minted
from crdt.roster import Alias, Label, Remove, Revoke
from tests.crdt.signers import Feed, SeedSigner, add, genesis

TABLE: dict[str, str] = json.loads(Path(__file__).with_name("feeds.json").read_text("utf-8"))
ANNA, BEN, NEXT = SeedSigner("anna"), SeedSigner("ben"), SeedSigner("next")
NONCE = bytes(range(16))
OPERATION = Operation(
    id=minted(ANNA.public_key, NONCE),
    type="memory",
    agent="claude",
    set={"kind": "memory", "project": "atrium", "confidence": 0.75, "parents": ["p1", "p2"], "scope": None},
    tag=["first", "zwei"],
    untag=[("old", b"d" * 32)],
    text="Zürich, 東京 and a line\nmore",
    base=[b"b" * 32],
    nonce=NONCE,
)
FRAGMENT = b'{"a":"fragment"}'


def home() -> Feed:
    """Make the space that all of the table is about."""
    feed = genesis(ANNA, "home", following=NEXT)
    feed.roster(add(BEN, ["read", "append"], following=NEXT))
    feed.say(EntryKind.RECORD, operations.encode(OPERATION))
    return feed


def have_vector(feed: Feed) -> have.Have:
    last = feed.entries[-1]
    return {(last.author, 2**64 - 1): Held(9, 10, b"h" * 32), (last.author, last.inc): Held(3, 3, last.hash)}


def exchange_file(feed: Feed, path: Path) -> bytes:
    (page,) = pages.paginate(feed.entries)
    fork = feed.branch(feed.entries[1], EntryKind.RECORD, b"fork")
    feed_file.write(
        path,
        [
            Space(space=feed.space, have=have.encode(have_vector(feed))),
            feed_file.page_part(page),
            *feed_file.loose_parts([fork]),
            Blob(kind="fragment", sha256=hashlib.sha256(FRAGMENT).digest(), data=FRAGMENT),
        ],
    )
    return path.read_bytes()


def bodies() -> dict[str, bytes]:
    """Word every kind of roster operation, and the one of records."""
    key, cut = BEN.public_key, {2**64 - 1: 7, 1: 2**40}
    return {
        "body operation": operations.encode(OPERATION),
        "body add": roster.encode(add(BEN, ["read"], owner=True, following=NEXT)),
        "body remove": roster.encode(Remove(member=key, cut=cut)),
        "body revoke": roster.encode(Revoke(old=key, cut=cut, next=b"n" * 32)),
        "body alias": roster.encode(Alias(own=b"o" * 32, into=b"i" * 32)),
        "body label": roster.encode(Label(label="Büro")),
    }


def made(path: Path) -> dict[str, str]:
    """Make the whole table anew."""
    feed = home()
    (page,) = pages.paginate(feed.entries)
    hexed = {
        "public key": ANNA.public_key,
        "genesis entry": feed.entries[0].raw,
        "roster entry": feed.entries[1].raw,
        "record entry": feed.entries[2].raw,
        "record hash": feed.entries[2].hash,
        "space": feed.space,
        **bodies(),
        "page": pages.encode(page),
        "page since 2": pages.encode(page, since=2),
        "state vector": pages.state_vector(page),
        "have": have.encode(have_vector(feed)),
        "have digest": have.digest(feed.space, have_vector(feed)),
        "fork head": have.head_of([b"2" * 32, b"1" * 32]),
        "file": exchange_file(feed, path),
    }
    words = {
        "node id": node_id(ANNA.public_key),
        "fingerprint": fingerprint(ANNA.public_key),
        "minted id": minted(ANNA.public_key, NONCE),
        "client id": str(pages.client_id(ANNA.public_key, 1, 1)),
        "client id of a later page": str(pages.client_id(ANNA.public_key, 2**64 - 1, 2)),
    }
    return {**words, **{name: data.hex() for name, data in hexed.items()}}


def golden(name: str) -> Entry:
    return parse(bytes.fromhex(TABLE[name]))


@pytest.mark.parametrize("name", TABLE)
def test_bytes_are_those_of_the_table(name: str, tmp_path: Path) -> None:
    assert made(tmp_path / "f")[name] == TABLE[name]


def test_the_table_has_everything(tmp_path: Path) -> None:
    assert list(made(tmp_path / "f")) == list(TABLE)


def test_an_entry_is_laid_out_as_the_format_says() -> None:
    """Spelled out from the description of the format, without the code that writes it."""
    first, entry = golden("genesis entry"), golden("record entry")
    body = bytes.fromhex(TABLE["body operation"])
    header = b"".join(
        (
            b"A1",
            bytes.fromhex(TABLE["space"]),
            bytes.fromhex(TABLE["public key"]),
            (1).to_bytes(8, "big"),
            (3).to_bytes(8, "big"),
            golden("roster entry").hash,
            (1_700_000_000_003 << 16).to_bytes(8, "big"),
            (3).to_bytes(2, "big"),
            len(body).to_bytes(4, "big"),
            hashlib.sha256(body).digest(),
        )
    )
    assert entry.raw == header + body + entry.signature
    Ed25519PublicKey.from_public_bytes(entry.author).verify(entry.signature, b"atrium-v1\0entry\0" + header)
    assert hashlib.sha256(header + entry.signature).hexdigest() == TABLE["record hash"]
    assert hashlib.sha256(first.header + first.signature).hexdigest() == TABLE["space"]
    assert first.space == ZERO


def test_derived_numbers_are_what_the_format_says() -> None:
    key = bytes.fromhex(TABLE["public key"])
    digest = hashlib.sha256(key + (1).to_bytes(8, "big") + (1).to_bytes(8, "big")).digest()
    assert int(TABLE["client id"]) == int.from_bytes(digest, "big") >> (256 - 53)
    both = hashlib.sha256(b"1" * 32 + b"2" * 32).hexdigest()
    assert TABLE["fork head"] == both


def test_an_operation_of_the_table_is_read_back() -> None:
    assert operations.decode(bytes.fromhex(TABLE["body operation"])) == OPERATION
    assert golden("record entry").body == bytes.fromhex(TABLE["body operation"])


def test_a_file_of_the_table_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes.fromhex(TABLE["file"]))
    _, page, loose, blob = feed_file.read(path)
    assert isinstance(page, feed_file.PageUpdate)
    assert isinstance(loose, feed_file.Loose)
    assert [parse(raw) for raw in feed_file.raws_of(page)] == home().entries
    assert [parse(raw).seq for raw in loose.entries] == [3]
    assert isinstance(blob, Blob)
    assert blob.data == FRAGMENT
