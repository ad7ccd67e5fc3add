"""Statements are named by what they say and read as one text."""

from __future__ import annotations

import hashlib

from crdt.operations import Operation, Value
from crdt.statements import STATEMENT, job_key, render

SAID: dict[str, Value] = {
    "title": "Harbour",
    "summary": "It is settled.",
    "facts": ["pier four", "noon"],
    "open_ends": ["who pays"],
    "workspace": "/w",
}


def test_a_statement_is_named_by_workspace_and_canonical_json() -> None:
    lists = b'"facts":["pier four","noon"],"open_ends":["who pays"]'
    stated = b"{" + lists + b',"summary":"It is settled.","title":"Harbour"}'
    assert job_key(SAID) == hashlib.sha256(b"/w\0" + stated).hexdigest()[:32]


def test_what_is_about_it_does_not_name_it() -> None:
    assert job_key({**SAID, "project": "p"}) == job_key(SAID)
    assert job_key({**SAID, "workspace": "/v"}) != job_key(SAID)
    assert job_key({"title": "t", "summary": "s"}) == job_key(
        {"title": "t", "summary": "s", "facts": [], "open_ends": [], "workspace": ""}
    )


def test_it_reads_as_one_text() -> None:
    assert render(SAID) == ("Harbour\n\nIt is settled.\n\nFacts:\n- pier four\n- noon\n\nOpen:\n- who pays")
    assert render({"title": "t", "summary": "s"}) == "t\n\ns"


def test_anybody_may_say_it_and_only_it() -> None:
    said = Operation(id=job_key(SAID), type="statement", set=SAID, text=render(SAID))
    assert STATEMENT.is_claim(said)
    assert not STATEMENT.is_claim(Operation(id=job_key(SAID), type="statement", set=SAID, text="x"))
    assert not STATEMENT.is_claim(Operation(id="0" * 32, type="statement", set=SAID, text=render(SAID)))
