"""The projection over real feeds: two nodes, what they send each other, an erasure, a backup put back."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from crdt.entries import Draft, Entry, EntryKind
from crdt.incarnation import Authorship
from crdt.operations import Operation, encode, mint
from crdt.projection import Projector
from crdt.roster import encode as encode_roster
from crdt.store import FeedStore, open_store
from tests.crdt.projection_kit import Author, projected, reader_of, reduced
from tests.crdt.signers import SeedSigner, add


@dataclass
class Node:
    """Feeds with their projection."""

    name: str
    signer: SeedSigner
    store: FeedStore
    projector: Projector
    path: Path

    def write(self, space: bytes, operation: Operation, kind: int = EntryKind.RECORD) -> Entry:
        (committed,) = self.store.write([Draft(space=space, kind=kind, body=encode(operation))])
        return committed.entry

    def create(self, space: bytes, text: str) -> Operation:
        record, nonce = mint(self.signer.public_key)
        made = Operation(id=record, type="memory", set={"kind": "memory"}, text=text, nonce=nonce)
        self.write(space, made)
        return made

    def change(self, space: bytes, record: str, **parts: object) -> Entry:
        """Build on all that this node knows of a record."""
        self.projector.catch_up()
        with reader_of(self.path, self.store) as reader:
            state = reader.get(record).state
        draft = {"id": record, "type": state.type, "base": state.heads, **parts}
        return self.write(space, Operation(**draft))  # type: ignore[arg-type]

    def digest(self) -> str:
        self.projector.catch_up()
        assert projected(self.path, self.store) == reduced(self.store)
        return self.projector.digest().digest

    def sayings(self, space: bytes) -> list[bytes]:
        return [item.entry.raw for item in self.store.entries() if item.entry.home == space]


def open_node(folder: Path, name: str) -> Node:
    signer = SeedSigner(name)
    store = open_store(
        folder / "canonical" / "feeds.db",
        writable=True,
        signer=signer,
        authorship=Authorship(marker=folder / "incarnation", name=name),
    )
    path = folder / "derived" / "projection.db"
    return Node(name=name, signer=signer, store=store, projector=Projector(path, store), path=path)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    """Make two nodes that are both members of the first one's home."""
    with ExitStack() as stack:
        made = [open_node(tmp_path / name, name) for name in ("ann", "ben")]
        for node in made:
            stack.enter_context(closing(node.store))
            stack.enter_context(closing(node.projector))
        ann, ben = made
        home = ann.store.home()
        ann.store.write([Draft(space=home, kind=EntryKind.ROSTER, body=encode_roster(add(ben.signer)))])
        ben.store.receive(ann.sayings(home))
        yield ann, ben


def exchange(one: Node, other: Node, space: bytes, chance: random.Random) -> None:
    """Have both tell all they know, in any order and partly twice."""
    sayings = [(other, raw) for raw in one.sayings(space)] + [(one, raw) for raw in other.sayings(space)]
    sayings += chance.choices(sayings, k=5)
    chance.shuffle(sayings)
    for hearer, raw in sayings:
        hearer.store.receive([raw])


def test_two_nodes_come_to_one_digest_and_both_see_the_conflict(nodes: tuple[Node, Node]) -> None:
    ann, ben = nodes
    home = ann.store.home()
    both, gone = ann.create(home, "one"), ann.create(home, "two")
    chance = random.Random(3)  # noqa: S311
    exchange(ann, ben, home, chance)
    ann.change(home, both.id, text="ann's")
    ben.change(home, both.id, text="ben's", tag=["t"])
    ben.change(home, gone.id, deleted=True)
    ben.create(home, "three")
    ann.create(ann.store.private(), "for herself")
    assert ann.digest() != ben.digest()
    exchange(ann, ben, home, chance)
    assert ann.digest() == ben.digest()
    for node in nodes:
        with reader_of(node.path, node.store) as reader:
            assert len(reader.get(both.id).state.conflicts) == 1
            assert reader.get(gone.id).state.deleted


def test_an_erasure_reaches_the_projection_of_the_other_node(nodes: tuple[Node, Node]) -> None:
    ann, ben = nodes
    home = ann.store.home()
    made = ann.create(home, "one")
    leak = ann.change(home, made.id, text="a secret")
    chance = random.Random(4)  # noqa: S311
    exchange(ann, ben, home, chance)
    ben.projector.catch_up()
    ann.store.write([Draft(space=home, kind=EntryKind.ERASE, body=leak.hash)])
    exchange(ann, ben, home, chance)
    assert ann.digest() == ben.digest()
    for node in nodes:
        with reader_of(node.path, node.store) as reader:
            assert reader.get(made.id).state.text == "one"


def test_feeds_that_were_put_back_have_the_projection_made_anew(tmp_path: Path) -> None:
    folder, backup = tmp_path / "ann", tmp_path / "backup"
    node = open_node(folder, "ann")
    node.create(node.store.home(), "kept")
    node.projector.close()
    node.store.close()
    shutil.copytree(folder / "canonical", backup)
    node = open_node(folder, "ann")
    node.create(node.store.home(), "lost")
    node.digest()
    node.projector.close()
    node.store.close()
    shutil.rmtree(folder / "canonical")
    shutil.copytree(backup, folder / "canonical")
    node = open_node(folder, "ann")
    with closing(node.store), closing(node.projector):
        node.create(node.store.home(), "written since")
        node.digest()
        with reader_of(node.path, node.store) as reader:
            texts = {view.state.text for view in reader.views([change.row for change in reader.changes(0)])}
    assert texts == {"kept", "written since"}


def test_the_same_entry_at_the_same_place_behind_others_has_it_made_anew_too(tmp_path: Path) -> None:
    """An older copy is put back under the projection, and what was lost comes again in another order."""
    ann, ben = Author("ann"), SeedSigner("ben")
    ann.feed.roster(add(ben))
    bens = Author("ben", ann.space, later_ms=1_000)
    first, second = ann.memory("first"), bens.memory("second")
    last, at_the_same_time = ann.change(first, text="last"), ann.change(first, text="another")
    folder, backup = tmp_path / "node", tmp_path / "backup"
    node = open_node(folder, "node")
    node.store.receive(entry.raw for entry in ann.entries[:2])
    node.store.close()
    shutil.copytree(folder / "canonical", backup)
    for order in ((first, second, last), (second, first, last)):
        node = open_node(folder, "node")
        with closing(node.store), closing(node.projector):
            for said in order:
                assert node.store.receive([said.entry.raw]).committed
            assert [item.entry for item in node.store.entries()][-1] == last.entry
            node.projector.catch_up()
            # What builds on neither has the record reduced again from all that the rows name.
            if order[0] is second:
                node.store.receive([at_the_same_time.entry.raw])
            node.digest()
        shutil.rmtree(folder / "canonical")
        shutil.copytree(backup, folder / "canonical")


def test_a_process_that_only_goes_on_writing_leaves_the_projection_as_it_is(tmp_path: Path) -> None:
    generations = set()
    for text in ("one", "two", "three"):
        node = open_node(tmp_path, "ann")
        with closing(node.store), closing(node.projector):
            node.create(node.store.home(), text)
            node.digest()
            with reader_of(node.path, node.store) as reader:
                generations.add(reader.generation())
    assert len(generations) == 1
