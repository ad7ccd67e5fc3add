"""Shared memory of one node for tests: use-cases called by name, as every adapter calls them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec

from node.composition import Local
from node.services.catalog import USE_CASES, Document
from tests.node.filled import ignore, opened


class Kept:
    """An open state directory and its use-cases."""

    def __init__(self, local: Local) -> None:
        self.local = local

    def call(self, name: str, **fields: object) -> Document:
        """Ask for a use-case, with the request as JSON would bring it."""
        case = USE_CASES[name]
        request = msgspec.json.decode(msgspec.json.encode(fields), type=case.request)
        return case.call(self.local, request, ignore)

    def add(self, text: str, **fields: object) -> str:
        """Keep an entry and give its id."""
        return str(self.call("memory.add", text=text, **fields)["id"])

    def get(self, identity: str) -> Document:
        """Give an entry."""
        return self.call("memory.get", id=identity)

    def items(self, name: str, **fields: object) -> list[Document]:
        """Give the items of a list."""
        return cast("list[Document]", self.call(name, **fields)["items"])

    def ids(self, **fields: object) -> list[str]:
        """Give the ids of the entries that a list has."""
        return [str(item["id"]) for item in self.items("memory.list", **fields)]

    def items_of_search(self, query: str) -> list[Document]:
        """Give the hits of a search by words, everywhere."""
        found = self.call("search", query=query, lane="words", everywhere=True, directory="/")
        return cast("list[Document]", found["hits"])

    def heads(self, identity: str) -> list[str]:
        """Give what a change has to name to have seen all of an entry."""
        return cast("list[str]", self.call("memory.history", id=identity)["heads"])

    def edit_at_once(self, identity: str, *texts: str) -> None:
        """Change an entry to several texts, none of which has seen another."""
        heads = self.heads(identity)
        for text in texts:
            self.call("memory.edit", id=identity, text=text, base=heads)


@contextmanager
def keeping(root: Path, *, writable: bool = True) -> Iterator[Kept]:
    """Open the shared memory of a state directory for a block."""
    with opened(root, writable=writable) as local:
        yield Kept(local)
