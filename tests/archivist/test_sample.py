"""The sample goes through the real adapters like the transcripts that it imitates."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from archivist.providers import PROVIDERS, RawEvent
from archivist.sample import planted_secret, write_sample
from tests.kit import CHECKOUT


def files(root: Path) -> dict[str, bytes]:
    """Read all that lies below a directory, with the directory's own name taken out."""
    encoded = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    return {
        str(path.relative_to(root)).replace(encoded, "HOME"): path.read_bytes().replace(
            str(root).encode(), b"HOME"
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def captured(name: str, roots: list[str]) -> tuple[list[RawEvent], Counter[str]]:
    """Read everything through an adapter."""
    events: list[RawEvent] = []
    skipped: Counter[str] = Counter()
    provider = PROVIDERS[name]
    for root in roots:
        for source in provider.sources(Path(root)):
            for increment in provider.read(source, None):
                events += increment.events
                skipped += increment.skipped
    return events, skipped


def everything(home: Path) -> list[RawEvent]:
    """Write the sample and read it back."""
    return [event for name, roots in write_sample(home).roots.items() for event in captured(name, roots)[0]]


def test_the_sample_is_where_the_agents_keep_their_transcripts(tmp_path: Path) -> None:
    written = write_sample(tmp_path)
    for name, roots in written.roots.items():
        assert set(roots) <= {str(root) for root in PROVIDERS[name].default_roots(tmp_path, {})}


@pytest.mark.parametrize(
    ("name", "expected"), [("claude-code", {"file-history-snapshot"}), ("codex", {"event_msg repeats"})]
)
def test_an_adapter_knows_every_record_of_the_sample(name: str, expected: set[str], tmp_path: Path) -> None:
    events, skipped = captured(name, write_sample(tmp_path).roots[name])
    assert {"message", "reasoning", "tool-call", "tool-result"} <= {event.kind for event in events}
    assert set(skipped) == expected
    assert len({(event.source_id, event.raw_id) for event in events}) == len(events)


def test_every_conversation_is_found_and_the_subagent_s_is_its_own(tmp_path: Path) -> None:
    written = write_sample(tmp_path)
    assert len({event.source_id for event in everything(tmp_path)}) == written.conversations == 12


def test_each_search_has_something_to_find(tmp_path: Path) -> None:
    said = [event.text.lower() for event in everything(tmp_path) if event.kind == "message"]
    searches = write_sample(tmp_path).searches
    assert len(searches) == 3
    for search in searches:
        assert (search.directory / ".git").is_dir()
        best = max(sum(word in text for word in search.query.split()) for text in said)
        assert best >= 2, search.query


def test_the_first_search_joins_two_agents(tmp_path: Path) -> None:
    written = write_sample(tmp_path)
    for roots in written.roots.items():
        events, _ = captured(*roots)
        assert any("idempotency key" in event.text for event in events if event.kind == "message")


def test_one_made_up_secret_is_planted_and_stands_in_no_source_file(tmp_path: Path) -> None:
    texts = [event.text for event in everything(tmp_path)]
    assert sum(planted_secret() in text for text in texts) == 1
    assert not any("{secret}" in text for text in texts)
    for source in (CHECKOUT / "archivist").glob("sample*.py"):
        assert planted_secret() not in source.read_text("utf-8")


def test_the_same_home_gets_the_same_bytes(tmp_path: Path) -> None:
    write_sample(tmp_path / "one")
    once = files(tmp_path / "one")
    write_sample(tmp_path / "one")
    write_sample(tmp_path / "two")
    assert files(tmp_path / "one") == once == files(tmp_path / "two")


def test_the_notes_link_to_each_other(tmp_path: Path) -> None:
    notes = {path.stem: path.read_text("utf-8") for path in write_sample(tmp_path).notes.glob("*.md")}
    links = {link for text in notes.values() for link in re.findall(r"\[\[(.+?)\]\]", text)}
    assert links
    assert links <= set(notes)
