"""What somebody says on purpose: checked, redacted, and made the fields of a record.

A statement is one title, one summary, and lists of facts and open ends.  How its record is named by what it
says, and how it reads as one text, is in `crdt.statements`; here is what is taken from people and agents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from crdt.canonical import encode_canonical
from crdt.errors import BadInput
from crdt.operations import Value
from crdt.statements import render

EPISODES = ("statement", "session-record")
"""The types of record that say what a statement says."""
TITLE_CHARS_MAX = 280
"""Twelve titles of this length, with their dates, are the 3,600 characters of a `recall` (RETRIEVAL.md 6)."""
SUMMARY_CHARS_MAX = 20_000
ITEMS_MAX = 100
ITEM_CHARS_MAX = 2_000
STATEMENT_BYTES_MAX = 96 << 10
"""In UTF-8.  An entry of 512 KiB holds it twice, as fields and as text, and its redaction may lengthen it."""

_SHAPE = "give {title, summary} and, if any, lists of texts: {facts, open_ends}"


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """What is said; whoever makes one has checked it."""

    title: str
    summary: str
    facts: list[str] = []
    open_ends: list[str] = []

    def fields(self, workspace: str) -> dict[str, Value]:
        """Give the fields of its record; `facts` and `open_ends` are there even when they are empty."""
        said: dict[str, Value] = msgspec.structs.asdict(self)
        return said | {"workspace": workspace, "project": label_of(workspace)}


def checked(document: Mapping[str, object], *, complete: bool = False) -> Statement:
    """Make a statement of what was given; raises `BadInput` that names the field that is wrong.

    With `complete` the lists have to be there too.
    """
    for name in document:
        if name not in Statement.__struct_fields__:
            raise _refused(f"`{name[:40]}` is no field of a statement")
    wanted = Statement.__struct_fields__ if complete else ("title", "summary")
    for name in wanted:
        if name not in document:
            raise _refused(f"`{name}` is missing")
    statement = Statement(
        title=_text(document["title"], "title", TITLE_CHARS_MAX),
        summary=_text(document["summary"], "summary", SUMMARY_CHARS_MAX),
        facts=_texts(document.get("facts", []), "facts"),
        open_ends=_texts(document.get("open_ends", []), "open_ends"),
    )
    size = len(encode_canonical(statement))
    if size > STATEMENT_BYTES_MAX:
        raise _refused(
            f"the statement has {size >> 10} KiB, and at most {STATEMENT_BYTES_MAX >> 10} are kept"
        )
    return statement


def redacted(statement: Statement, redact: Callable[[str], tuple[str, int]]) -> tuple[Statement, int]:
    """Redact every text of a statement and count what was found.

    Raises `BadInput` where nothing is left of a text that is needed, and where a secret begins in one text
    and ends in another: what is kept has to be free of secrets in its parts and as a whole.
    """
    found = 0

    def clean(text: str) -> str:
        nonlocal found
        text, count = redact(text)
        found += count
        return text

    said = Statement(
        title=clean(statement.title),
        summary=clean(statement.summary),
        facts=[fact for fact in map(clean, statement.facts) if fact.strip()],
        open_ends=[end for end in map(clean, statement.open_ends) if end.strip()],
    )
    for name, text in (("title", said.title), ("summary", said.summary)):
        if not text.strip():
            raise _refused(f"`{name}` is private from end to end, and nothing of it would be kept")
    if redact(render(said.fields("")))[1]:
        raise BadInput(
            "a secret begins in one text of the statement and ends in another", hint="leave it out"
        )
    return said, found


def label_of(workspace: str) -> str:
    """Give the label of a workspace: its last name, in lower case (DECISIONS.md 5)."""
    return workspace.rstrip("/").rpartition("/")[2].lower()


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, list):
        raise _refused(f"`{name}` is {_kind(value)}, not a list of texts")
    if len(value) > ITEMS_MAX:
        raise _refused(f"`{name}` has {len(value)} items, and at most {ITEMS_MAX} are kept")
    return [_text(item, f"{name}[{place}]", ITEM_CHARS_MAX) for place, item in enumerate(value)]


def _text(value: object, name: str, chars_max: int) -> str:
    if not isinstance(value, str):
        raise _refused(f"`{name}` is {_kind(value)}, not a text")
    if not value.strip():
        raise _refused(f"`{name}` is blank")
    if len(value) > chars_max:
        raise _refused(f"`{name}` has {len(value):,} characters, and at most {chars_max:,} are kept")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(f"`{name}` has half a character at {error.start}") from error
    return value


def _kind(value: object) -> str:
    """Say of a value of JSON what it is."""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
    return "null" if value is None else kinds.get(type(value), "an object")


def _refused(detail: str) -> BadInput:
    return BadInput(detail, hint=_SHAPE)
