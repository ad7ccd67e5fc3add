"""Open a store and its manifests as a node does, with a key of the tests."""

from __future__ import annotations

from pathlib import Path

from crdt.incarnation import Authorship
from crdt.manifest_log import FeedManifests
from crdt.store import FeedStore, open_store
from tests.crdt.signers import SeedSigner


def open_feeds(path: Path, *, writable: bool = True, name: str = "node") -> FeedStore:
    """Open a store that a node of that name writes; the marker of its clean stop lies beside it."""
    if not writable:
        return open_store(path, writable=False)
    authorship = Authorship(marker=path.with_name(f"{path.name}.incarnation"), name=name)
    return open_store(path, writable=True, signer=SeedSigner(name), authorship=authorship)


def open_log(path: Path, *, writable: bool = True, name: str = "node") -> FeedManifests:
    """Open the manifests of such a store."""
    return FeedManifests(open_feeds(path, writable=writable, name=name))
