"""Session records are named by session, boundary and what they say."""

from __future__ import annotations

from crdt.operations import Operation, Value
from crdt.records import check
from crdt.sessions import SESSION_RECORD, session_key
from crdt.statements import job_key, render

SAID: dict[str, Value] = {
    "title": "t",
    "summary": "s",
    "workspace": "/w",
    "conversation_id": "c" * 64,
    "boundary": "b",
}


def test_another_session_or_boundary_is_another_record() -> None:
    keys = {session_key(SAID), session_key({**SAID, "boundary": "a"}), job_key(SAID)}
    assert len(keys | {session_key({**SAID, "conversation_id": "d"})}) == 4
    assert session_key({**SAID, "host": "elsewhere"}) == session_key(SAID)


def test_a_session_record_is_what_it_says() -> None:
    said = Operation(id=session_key(SAID), type="session-record", set=SAID, text=render(SAID))
    check(said, new=True)
    assert SESSION_RECORD.is_claim(said)
