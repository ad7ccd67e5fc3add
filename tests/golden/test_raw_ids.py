"""Raw ids may never change: every conversation that was captured is found again by them.

The table holds, for each provider, lines as that agent writes them and, for each event that they give, the
conversation, the raw id, the kind and the role.  Should a change of an adapter need another table, then it
needs a migration of every archive too.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS
from tests.archivist.providers.samples import OpencodeStore, lines, read_root

TABLE = json.loads(Path(__file__).with_name("raw_ids.json").read_text("utf-8"))


def fill(root: Path, provider: str, records: list[dict[str, object]]) -> None:
    if provider == "opencode":
        store = OpencodeStore(root / "opencode.db")
        store.session("ses_1")
        for record in records:
            store.message("ses_1", str(record["id"]), record["data"], record["parts"])  # type: ignore[arg-type]
        return
    (root / "rollout-talk.jsonl").write_bytes(lines(records))


def test_every_provider_has_a_table() -> None:
    assert list(TABLE) == list(PROVIDERS)


@pytest.mark.parametrize("provider", TABLE)
def test_raw_ids_are_those_of_the_table(provider: str, tmp_path: Path) -> None:
    fill(tmp_path, provider, TABLE[provider]["records"])
    events = read_root(PROVIDERS[provider], tmp_path).events
    made = [[event.source_id, event.raw_id, event.kind, event.role] for event in events]
    assert made == TABLE[provider]["events"]
