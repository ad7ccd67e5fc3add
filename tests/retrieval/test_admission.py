"""Words of people and agents are admitted; what says nothing is not, and says why."""

from __future__ import annotations

import pytest

from crdt.events import Event, Kind, Role
from retrieval.admission import rejection


def event(text: str, *, kind: str = Kind.MESSAGE, role: str = Role.USER, identity: str | None = "e") -> Event:
    """Make an event."""
    return Event(id=identity, kind=kind, role=role, text=text, seq=0)


@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
def test_messages_of_users_and_assistants_are_admitted(role: str) -> None:
    assert rejection(event("where is the crane", role=role)) is None


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.MESSAGE])
def test_other_kinds_are_not(kind: str) -> None:
    assert rejection(event("where is the crane", kind=kind)) == f"kind {kind}"


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.DEVELOPER, Role.TOOL, Role.UNKNOWN])
def test_other_roles_are_not(role: str) -> None:
    assert rejection(event("where is the crane", role=role)) == f"role {role}"


def test_an_event_without_an_id_is_not() -> None:
    assert rejection(event("where is the crane", identity=None)) == "missing event id"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\u3000",
        "ok",
        "OK.",
        "okay!",
        "Yes, please",
        "no",
        "thanks a lot"[:6],
        "thank you very much",
        "go on",
        "vale",
        "dale",
        "adelante",
        "sí",
        "SÍ",
        "gracias",
        "vale, gracias",
        "perfecto",
        "listo",
        "hecho",
        "oui",
        "danke",
        "да",
        "好的",
        "はい",
        "«ok»",
        " ok " + " " * 60,
        "ok" + "\n" * 60,
    ],
)
def test_what_says_nothing_is_not(text: str) -> None:
    assert rejection(event(text)) == "empty or acknowledgement"


@pytest.mark.parametrize(
    "text",
    [
        "ok then where is it",
        "no crane",
        "not",
        "yesterday",
        "okra",
        "yes " * 20,
        "x",
        "?",
        "👍",
        "42",
        "thanks for the crane",
        "siesta",
        "C#",
    ],
)
def test_what_says_something_is_admitted(text: str) -> None:
    assert rejection(event(text)) is None


def test_the_kind_is_told_before_the_role_and_the_role_before_the_text() -> None:
    assert rejection(event("", kind=Kind.TOOL_RESULT, role=Role.TOOL)) == "kind tool-result"
    assert rejection(event("", role=Role.SYSTEM)) == "role system"
