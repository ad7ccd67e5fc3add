"""Look at a state directory from outside, as `status`, `export` and `search` of the real command show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from crdt.archive_file import check, lines, read_manifest
from node import config
from node.composition import open_local
from node.config import NodeConfig
from node.services import search
from node.services.requests import SearchRequest
from tests.kit import World

STRAY_PATTERNS = (".tmp-", ".new-", "rebuild-")
Answer = list[tuple[str, float]]


def standing(world: World) -> dict[str, object]:
    """Give what two equal state directories have in common: digests and counts."""
    document = world.run("status", "--json").document()
    return {name: document[name] for name in ("digest", "notes_digest", "records")}


def exported(world: World, name: str = "export.jsonl") -> list[dict[str, object]]:
    """Export, verify the file against its manifest, and give its conversations."""
    path = world.base / name
    world.run("export", str(path)).ok()
    manifest = read_manifest(path)
    check(path, manifest)
    found: list[dict[str, object]] = [json.loads(line.data) for line in lines(path)]
    assert len(found) == manifest.records
    assert manifest.complete
    return found


def said(conversations: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Leave out what tells how and where a conversation was captured."""
    hidden = ("provenance", "hosts")
    return [
        {name: value for name, value in conversation.items() if name not in hidden}
        for conversation in conversations
    ]


def answers(world: World, queries: Sequence[str]) -> list[Answer]:
    """Give ids, order and scores of what each query finds, asked in this process."""
    found = []
    with closing(open_local(settings(world), writable=False)) as local:
        for query in queries:
            request = SearchRequest(query=query, limit=30, everywhere=True, directory=str(world.work))
            hits = search.handle(local, request, lambda _document: None)["hits"]
            assert isinstance(hits, list)
            found.append([(str(hit["record_id"]), float(hit["score"])) for hit in hits])
    return found


def settings(world: World) -> NodeConfig:
    """Give the settings that the command has in this world."""
    return config.load(environ=world.environment(), directory=world.work)


def strays(state: Path) -> list[str]:
    """List files that only a writer at work should have."""
    return sorted(
        str(path.relative_to(state))
        for path in state.rglob("*")
        if any(pattern in path.name for pattern in STRAY_PATTERNS)
    )
