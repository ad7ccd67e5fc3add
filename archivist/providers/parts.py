"""Small things that several adapters do with the parts of a record.

Labels of tallies come from files, so they are made harmless here: a type name that is no plain word could
be anything, a secret included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from archivist.jsonl import without_lone_surrogates
from archivist.providers.base import JsonValue
from crdt.canonical import encode_canonical

IMAGE: Final = "[image]"
TOO_DEEP: Final = "[nested too deeply]"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", re.ASCII)


def canonical_text(value: object) -> str:
    """Write a decoded JSON value as canonical JSON; one that nests beyond any use as a marker."""
    try:
        return encode_canonical(value).decode()
    except RecursionError:
        return TOO_DEEP


def call_text(name: str | None, arguments: object) -> str:
    """Write a tool call: canonical JSON of its name and its input."""
    return canonical_text({"name": name or "", "input": arguments})


def plain_name(name: str | None, otherwise: str) -> str:
    """Return a type name for a tally, or another word where it is no plain name."""
    return name if name and _PLAIN_NAME.fullmatch(name) else otherwise


def decoded_object(data: bytes | str) -> dict[str, JsonValue] | None:
    """Decode an object of JSON, without lone surrogates; None where it is none."""
    try:
        made = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        try:
            made = json.loads(without_lone_surrogates(json.dumps(json.loads(data), ensure_ascii=False)))
        except (ValueError, RecursionError):
            return None
    return made if isinstance(made, dict) else None


def strings(value: JsonValue, *names: str) -> Iterator[str]:
    """Give the strings that an object holds under these names, in the order of the names."""
    if isinstance(value, dict):
        for name in names:
            found = value.get(name)
            if isinstance(found, str):
                yield found
