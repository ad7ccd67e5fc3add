"""Ask a use-case by its name on a state directory, as the command does where no node runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from node.services.catalog import USE_CASES
from tests.node.filled import ignore, opened


def asked(root: Path, name: str, /, **arguments: object) -> Mapping[str, object]:
    """Run one use-case, opened for writing exactly where it needs to write."""
    case = USE_CASES[name]
    request = msgspec.convert(arguments, case.request)
    with opened(root, writable=case.needs_to_write(request)) as local:
        document = case.call(local, request, ignore)
    assert document["schemaVersion"] == 1
    return document


def part(document: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Give a nested object."""
    found = document[key]
    assert isinstance(found, dict)
    return cast("Mapping[str, object]", found)


def items(document: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    """Give a list of objects."""
    found = document[key]
    assert isinstance(found, list)
    return cast("list[Mapping[str, object]]", found)
