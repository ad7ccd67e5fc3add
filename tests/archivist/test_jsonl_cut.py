"""A growing file of JSON lines, cut anywhere into runs, gives what one reading of it gives."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archivist.providers import PROVIDERS, Cursor, Source
from tests.archivist.providers.samples import (
    CLAUDE_MORE,
    CLAUDE_RECORDS,
    CODEX_MORE,
    CODEX_RECORDS,
    GENERIC_MORE,
    GENERIC_RECORDS,
    Reading,
    answered,
    codex_message,
    line,
    text,
    typed,
)

ODD_BYTES = [
    b"\n", b"\r\n", b"prose\n", b'{"type":"us\xffer"}\n', b"\0\0\0\n", b"42\n", b'{"type":"later"}\n',
    b'{"type":"user"}{"a":1} tail\n', b"\xe2\x80\xa8\n", b'{"a":"\\ud800"}\n', b'{"a":NaN}{"b":2}\n',
]  # fmt: skip
FORK = {"sessionId": "f", "messageUuid": "m"}
CLAUDE_ODD = [
    line(record)
    for record in (
        typed("", "unnamed"),
        typed("u9", "<system-reminder>x</system-reminder> words", sessionId="another", cwd="/srv/b"),
        typed("u8", "of a subagent", isSidechain=True, agentId="a1"),
        {"type": "summary", "summary": "what was", "leafUuid": "u1"},
        answered(
            "a9", text("é\u2028ñ"), {"type": "image"}, forkedFrom={"sessionId": "f", "messageUuid": "m"}
        ),
    )
]
STREAMS = {
    "claude-code": [line(record) for record in CLAUDE_RECORDS + CLAUDE_MORE] + CLAUDE_ODD,
    "codex": [line(record) for record in CODEX_RECORDS + CODEX_MORE]
    + [line(codex_message("user", "again", "and again", at="2026-01-05T09:00:01.000Z"))],
    "generic": [line(record) for record in GENERIC_RECORDS + GENERIC_MORE],
}


@pytest.mark.parametrize("provider", STREAMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_file_cut_anywhere_into_runs_gives_the_events_of_one_reading(
    provider: str, data: st.DataObject
) -> None:
    pieces = data.draw(st.lists(st.sampled_from(STREAMS[provider] + ODD_BYTES), min_size=1, max_size=14))
    content = b"".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rollout-1.jsonl"
        grown = Reading()
        cursor: Cursor | None = None
        for end in sorted({*cuts, len(content)}):
            path.write_bytes(content[:end])
            found = path.stat()
            source = Source(
                provider=provider,
                path=path,
                relative_path=path.name,
                size_bytes=end,
                modified_ns=found.st_mtime_ns,
                inode=found.st_ino,
            )
            grown.add(PROVIDERS[provider].read(source, cursor))
            cursor = grown.cursor
        whole = Reading().add(PROVIDERS[provider].read(replace(source, size_bytes=-1), None))
    assert grown.events == whole.events
    assert not any(increment.rewritten for increment in grown.increments)
    assert {name: grown.sessions[name] for name in whole.sessions} == whole.sessions
    assert json.loads(json.dumps(grown.cursor.state)) == whole.cursor.state
