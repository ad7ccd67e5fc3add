"""Entries of another node: whose they are, who may change them, which directives stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from crdt.errors import NotAllowed
from tests.node.asking import asked
from tests.node.filled import opened


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return tmp_path / "host" / "state"


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    root = tmp_path / "guest" / "state"
    root.parent.mkdir()
    with opened(root, writable=True) as local:
        local.feeds.home()
    return root


def invite(host: Path, guest: Path, space: str) -> None:
    """Make the guest a member, with the rights that are usual in the space."""
    key = asked(guest, "identity")["key"]
    asked(host, "spaces.add-member", space=space, key=key, name="laptop")


def carry(source: Path, target: Path) -> None:
    """Bring the feeds of one to the other."""
    path = str(source.parent / "feeds")
    asked(source, "feeds.export", path=path)
    asked(target, "feeds.import", path=path)


def space_of(root: Path) -> str:
    """Name the home of a node by its id, which means the same on every node."""
    with opened(root, writable=True) as local:
        return local.feeds.home().hex()


def test_a_directive_of_another_node_stands_once_its_text_is_accepted(host: Path, guest: Path) -> None:
    invite(host, guest, "home")
    carry(host, guest)
    said = asked(guest, "memory.add", text="always obey", type="directive", space=space_of(host))
    carry(guest, host)
    found = asked(host, "memory.get", id=said["id"])
    assert (found["trust"], found["node"]) == ("unaccepted", "laptop")
    assert asked(host, "memory.accept", id=said["id"])["trust"] == "accepted"
    asked(guest, "memory.edit", id=said["id"], text="obey at once")
    carry(guest, host)
    assert asked(host, "memory.get", id=said["id"])["trust"] == "unaccepted"


def test_an_accepted_directive_does_not_stand_where_its_author_moves_it(host: Path, guest: Path) -> None:
    invite(host, guest, "home")
    carry(host, guest)
    rule = {"type": "directive", "project": "yard", "space": space_of(host)}
    said = asked(guest, "memory.add", text="always obey", **rule)["id"]
    carry(guest, host)
    assert asked(host, "memory.accept", id=said)["trust"] == "accepted"
    asked(guest, "memory.tag", id=said, add=["new"])
    carry(guest, host)
    assert asked(host, "memory.get", id=said)["trust"] == "accepted", "a tag is no matter"
    asked(guest, "memory.edit", id=said, fields={"project": "office"})
    carry(guest, host)
    moved = asked(host, "memory.get", id=said)
    assert (moved["project"], moved["trust"]) == ("office", "unaccepted")


def test_another_node_can_neither_make_a_directive_of_a_note_nor_move_one(host: Path, guest: Path) -> None:
    invite(host, guest, "home")
    note = asked(host, "memory.add", text="a page said: run this")["id"]
    rule = asked(host, "memory.add", text="always test", type="directive", project="web")["id"]
    carry(host, guest)
    asked(guest, "memory.tag", id=rule, add=["seen"])
    carry(guest, host)
    assert asked(host, "memory.get", id=rule)["trust"] == "accepted", "a tag is no matter"
    asked(guest, "memory.edit", id=note, fields={"type": "directive"})
    asked(guest, "memory.edit", id=rule, fields={"project": "bank"})
    carry(guest, host)
    found = {name: asked(host, "memory.get", id=name) for name in (note, rule)}
    assert [(found[name]["type"], found[name]["trust"]) for name in (note, rule)] == [
        ("directive", "unaccepted"),
        ("directive", "unaccepted"),
    ]
    assert asked(host, "memory.accept", id=note)["trust"] == "accepted"
    moved = asked(host, "memory.edit", id=rule, fields={"project": "web"})
    assert moved["trust"] == "accepted", "who runs this node has said where it stands"


def test_a_directive_that_was_deleted_here_is_not_brought_back_elsewhere(host: Path, guest: Path) -> None:
    invite(host, guest, "home")
    rule = asked(host, "memory.add", text="always test", type="directive")["id"]
    asked(host, "memory.delete", ids=[rule])
    carry(host, guest)
    asked(guest, "memory.restore", id=rule)
    carry(guest, host)
    assert asked(host, "memory.get", id=rule)["trust"] == "unaccepted"


def test_entries_of_others_are_changed_only_where_one_may_moderate(host: Path, guest: Path) -> None:
    asked(host, "spaces.create", label="team")
    invite(host, guest, "team")
    theirs = asked(host, "memory.add", text="the pier", space="team")["id"]
    carry(host, guest)
    own = asked(guest, "memory.add", text="the crane", space="team")["id"]
    with opened(guest, writable=True) as local:
        head = local.feeds.head()
    for name, more in (
        ("memory.edit", {"id": theirs, "text": "mine"}),
        ("memory.tag", {"id": theirs, "add": ["mine"]}),
        ("memory.delete", {"ids": [theirs, own]}),
    ):
        with pytest.raises(NotAllowed, match="may not moderate `team`"):
            asked(guest, name, **more)
    with opened(guest, writable=True) as local:
        assert local.feeds.head() == head
    assert asked(guest, "memory.edit", id=own, text="the quay")["content"] == "the quay"
    carry(guest, host)
    assert asked(host, "memory.edit", id=own, text="decided here")["content"] == "decided here"


def test_nothing_is_imported_where_one_may_not_moderate(host: Path, guest: Path, tmp_path: Path) -> None:
    asked(host, "spaces.create", label="team")
    asked(host, "memory.add", text="the pier", space="team")
    invite(host, guest, "team")
    carry(host, guest)
    path = str(tmp_path / "memory.jsonl")
    asked(host, "memory.export", path=path)
    report = asked(guest, "memory.import", path=path)
    assert report["added"] == 0, "what came as feeds is here under its own name"
    asked(host, "memory.add", text="the crane", space="team")
    asked(host, "memory.export", path=path)
    with pytest.raises(NotAllowed, match="may not moderate the space `team`"):
        asked(guest, "memory.import", path=path)
