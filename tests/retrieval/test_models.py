"""The types that lanes and answers exchange say what they promise."""

from __future__ import annotations

import pytest

from retrieval.models import ROLES_ALL, Deadline, Hit


def hit(role: str) -> Hit:
    """Make a hit of a role."""
    return Hit(
        record_id="0" * 64, row=1, text="", score=0.0, lane="words", role=role, provider="codex",
        conversation_id="1" * 64, title="", event_index=0, source_sha256="2" * 64, authored_at=None,
        workspace=None,
    )  # fmt: skip


def test_a_deadline_passes_when_its_budget_is_used_up() -> None:
    now = [100.0]
    deadline = Deadline(2.5, lambda: now[0])
    now[0] = 102.49
    assert not deadline.passed()
    now[0] = 102.5
    assert deadline.passed()


@pytest.mark.parametrize(
    ("role", "trust"),
    [("note", "curated"), ("source", "untrusted"), ("user", "history"), ("assistant", "history")],
)
def test_trust_follows_from_whose_words_they_are(role: str, trust: str) -> None:
    assert hit(role).trust == trust


def test_words_of_an_unknown_role_are_not_trusted() -> None:
    assert "oracle" not in ROLES_ALL
    assert hit("oracle").trust == "untrusted"
