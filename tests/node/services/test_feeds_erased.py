"""What was erased reaches another node as erased, however much lies between it and what erased it."""

from __future__ import annotations

from pathlib import Path

from crdt.entries import Draft, EntryKind
from tests.node.filled import opened
from tests.node.services.test_feeds import exported, imported, invite

BETWEEN = 2_300
"""More than two pages, and more than may wait of one author."""


def test_an_erased_entry_far_ahead_of_its_erasure_is_taken(tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "state", tmp_path / "there" / "state"
    with opened(here, writable=True) as local:
        home = local.feeds.home()
        (secret,) = local.feeds.write([Draft(space=home, kind=EntryKind.RECORD, body=b"a secret")])
        local.feeds.write([Draft(space=home, kind=99, body=b"of a later version")] * BETWEEN)
        local.feeds.write([Draft(space=home, kind=EntryKind.ERASE, body=secret.entry.hash)])
    invite(here, there)
    document = imported(there, exported(here, "feeds.atrium"))
    assert (document["pending"], document["refused"]) == (0, [])
    with opened(there, writable=False) as local:
        found = local.feeds.entry(secret.entry.hash)
        assert found is not None
        assert found.entry.body is None
        theirs = local.feeds.heads(home)
    with opened(here, writable=False) as local:
        assert local.feeds.heads(home) == theirs
