"""Look for what was planted in a home: sentences that must be found, secrets that must not.

A sentence counts as found when it is the first hit and the only one whose own text has its word; copies of
it in the file of a subagent or of a resumed session are the same words and may follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import zstandard

from node.composition import open_local
from node.services import search
from node.services.requests import SearchRequest
from tests.bench.corpus import Corpus, enter

LIMIT = 20
BEGINNING_BYTES = 4
SHOWN_BYTES = 24


def missed_needles(home: Path, state: Path) -> tuple[list[str], list[str]]:
    """Search for every needle: words whose first hit lacks them, and words that other sentences have too."""
    missed, bent = [], []
    with closing(open_local(enter(home, state), writable=False)) as local:
        for needle in Corpus(home).needles:
            word, sentence = needle["word"], needle["sentence"]
            request = SearchRequest(
                query=word, lane="words", limit=LIMIT, everywhere=True, directory=str(home)
            )
            document = search.handle(local, request, lambda _document: None)
            hits = document["hits"]
            assert isinstance(hits, list)
            if not hits or sentence not in hits[0]["text"]:
                missed.append(word)
            elif len({hit["text"] for hit in hits if word in hit["text"]}) > 1:
                bent.append(word)
    return missed, bent


def secrets_left(home: Path, state: Path) -> list[str]:
    """List the files of a state directory that hold a planted secret, in raw bytes or decompressed.

    Secrets of one issuer begin alike: the beginnings are searched for, and what follows is compared.
    """
    secrets: dict[bytes, list[bytes]] = {}
    for secret in Corpus(home).secrets:
        secrets.setdefault(secret.encode()[:BEGINNING_BYTES], []).append(secret.encode())
    begun = {beginning: tuple(same) for beginning, same in secrets.items()}
    found = []
    for path in sorted(state.rglob("*")):
        if path.is_file():
            where = str(path.relative_to(state))
            found += [f"{where}: {secret!r}" for data in _contents(path) for secret in _held(data, begun)]
    return found


def _held(data: bytes, begun: Mapping[bytes, tuple[bytes, ...]]) -> Iterator[bytes]:
    for beginning, secrets in begun.items():
        at = data.find(beginning)
        while at >= 0:
            if data.startswith(secrets, at):
                yield data[at : at + SHOWN_BYTES]
            at = data.find(beginning, at + 1)


def _contents(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    yield data
    if path.suffix == ".zst":
        decompressor = zstandard.ZstdDecompressor()
        yield decompressor.stream_reader(data, read_across_frames=True).read()
