"""What may be asked: the checks that every use-case with a question shares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput
from retrieval.models import LANE_NAMES, LaneName
from retrieval.scope import scope_of

if TYPE_CHECKING:
    from node.composition import Local


def checked_text(text: str) -> str:
    """Return a question that has any text; raises `BadInput` for a blank one."""
    if not text.strip():
        raise BadInput("the question is blank", hint="ask with at least one word")
    return text


def checked_lane(name: str) -> LaneName:
    """Return the name of a lane; raises `BadInput` for any other word."""
    for lane in LANE_NAMES:
        if lane == name:
            return lane
    raise BadInput(f"there is no lane {name[:40]!r}", hint=f"use one of {', '.join(LANE_NAMES)}")


def checked_number(name: str, value: int, low: int, high: int) -> int:
    """Return a number within its bounds; raises `BadInput` that names them."""
    if not low <= value <= high:
        raise BadInput(f"{name} must be from {low} to {high}, not {value}", hint=f"give another {name}")
    return value


def scope_around(local: Local, directory: Path) -> str | None:
    """Name the repository around a directory as captures store it; None outside any.

    A workspace that is stored was redacted, so one that is asked for has to be: a path may hold a secret, or
    another of this person's homes.
    """
    scope = scope_of(directory, local.home)
    return None if scope is None else local.redactor.redact(scope)[0]


def scope_of_project(local: Local, project: str) -> str:
    """Name the workspace of the repository around a directory; raises `BadInput` outside any."""
    scope = None if "\0" in project else scope_around(local, Path(project))
    if scope is None:
        raise BadInput(f"{project!r} is in no repository", hint="name a directory of a git repository")
    return scope
