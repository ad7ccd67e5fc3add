"""Entries, versions and conflicts as lines for people."""

from __future__ import annotations

import pytest

from cli.commands import memory_lines

ENTRY: dict[str, object] = {
    "id": "3f9a12c0-aaaa", "type": "memory", "agent": "bot", "node": "desk", "space": "home",
    "content": "the pier", "tags": ["sea"], "project": "tidewatch", "conflicts": [], "trust": "shared",
}  # fmt: skip
BESIDE = {"agent": "ann", "node": "shed", "content": "the quay"}


def out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_row_is_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    memory_lines.row(ENTRY)
    assert out(capsys) == "3f9a12c0  memory · bot@desk · tidewatch · #sea\n  the pier\n"


def test_what_is_unusual_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    memory_lines.row(
        {
            **ENTRY,
            "space": "team",
            "deleted_at": "x",
            "trust": "unaccepted",
            "conflicts": [BESIDE],
            "superseded_by": "y",
        }
    )
    said = out(capsys)
    for word in ("team", "deleted", "unaccepted", "1 conflict", "superseded"):
        assert word in said


def test_a_long_text_is_one_line_in_a_list() -> None:
    text = memory_lines.headline({"content": "word\n" * 100})
    assert len(text) == memory_lines.HEADLINE_CHARS
    assert "\n" not in text
    assert text.endswith("…")


def test_an_entry_shows_the_texts_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    memory_lines.entry({**ENTRY, "conflicts": [BESIDE]})
    said = out(capsys)
    assert said.index("the pier") < said.index("ann@shed") < said.index("the quay")


def test_a_conflict_shows_all_texts(capsys: pytest.CaptureFixture[str]) -> None:
    memory_lines.conflict({"id": "x", "versions": [ENTRY, BESIDE]})
    said = out(capsys)
    assert said.index("served, by bot@desk") < said.index("the pier") < said.index("also said, by ann@shed")


def test_of_a_tombstone_no_text_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    memory_lines.conflict({"id": "x", "deleted": True, "versions": [BESIDE]})
    said = out(capsys)
    assert "served" not in said
    assert "also said, by ann@shed" in said


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ({"content": "x", "set": {"b": 1, "a": 2}}, "text, a, b"),
        ({"tags_added": ["n"], "tags_removed": ["o"]}, "+#n, -#o"),
        ({"deleted": True}, "deleted"),
        ({"deleted": False}, "restored"),
    ],
)
def test_a_version_says_what_it_changed(
    capsys: pytest.CaptureFixture[str], version: dict[str, object], said: str
) -> None:
    memory_lines.version({"version": 3, "agent": "bot", "node": "desk", **version})
    assert out(capsys).splitlines()[0].endswith(f"bot@desk · {said}")


def test_nothing_foreign_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bad = "x\x1b[2Jy"
    memory_lines.entry({**ENTRY, "content": bad, "tags": [bad], "project": bad, "agent": bad})
    memory_lines.version({"version": 1, "content": bad, "tags_added": [bad], "agent": bad, "node": bad})
    assert "\x1b[2J" not in out(capsys)
