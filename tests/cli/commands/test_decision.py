"""`atrium decision`: said once, listed newest first, superseded by later ones."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_decisions_are_kept_and_listed_with_their_reasons(shell: Shell) -> None:
    said = shell.run(
        "decision", "add", "SQLite", "--rationale", "one file", "--alternative", "PostgreSQL", "--task",
        "t-1", "--project", "Tidewatch", "--agent", "bot", "--json",
    ).document()  # fmt: skip
    assert (said["decision"], said["task_id"], said["project"]) == ("SQLite", "t-1", "tidewatch")
    shell.run("decision", "add", "no SQLite", "--supersedes", str(said["id"])[:8]).ok()
    out = shell.run("decision").ok().out
    assert (
        out.index("no SQLite")
        < out.index("superseded")
        < out.index("why: one file")
        < out.index("not: PostgreSQL")
    )
    listed = shell.run("decision", "list", "--project", "tidewatch", "--json").document()["items"]
    assert [item["decision"] for item in listed] == ["SQLite"]  # type: ignore[attr-defined]


def test_what_can_t_be_decided_is_refused(shell: Shell) -> None:
    shell.run("decision", "add", " ").refused("no decision")
    shell.run("decision", "add").refused("TEXT")
    shell.run("decision", "add", "x", "--supersedes", "ffffffff").refused("ffffffff")
    assert shell.run("decision", "list", "--json").document()["items"] == []


def test_a_private_decision_says_so(shell: Shell) -> None:
    assert shell.run("decision", "add", "x", "--private", "--json").document()["space"] == "private"
