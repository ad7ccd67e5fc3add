"""The bundle for whoever helps: what is in it, and what never is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import cast

import pytest

from archivist.redact import Redactor
from node.services.report import LOG_BYTES_MAX, LOG_LINES, bundle, last_lines, without_paths
from tests.node.filled import archive, fragment_of, opened


@pytest.fixture
def redactor() -> Redactor:
    """Make the real redactor."""
    return Redactor(["/home/somebody"])


def made(root: Path) -> dict[str, object]:
    """Make a bundle."""
    with opened(root) as local:
        return bundle(local, time.time())


def test_versions_settings_and_counts_are_in_it(tmp_path: Path) -> None:
    archive(tmp_path / "state", fragment_of("a", ["one"]))
    found = made(tmp_path / "state")
    assert set(cast("dict[str, object]", found["versions"])) == {"atrium", "python", "sqlite", "system"}
    assert cast("dict[str, object]", found["settings"])["node.port"] == 7707
    status = cast("dict[str, object]", found["status"])
    assert status["records"] == {"total": 1, "bySource": {"claude-code": 1}}


def test_a_machine_with_nothing_has_a_bundle(tmp_path: Path) -> None:
    found = made(tmp_path / "state")
    assert found["log"] == []
    assert not (tmp_path / "state").exists()


def test_directories_of_transcripts_are_counted_and_not_named(tmp_path: Path) -> None:
    root = tmp_path / "state"
    root.mkdir()
    (root / "config.toml").write_text('[capture.roots]\ngeneric = ["/srv/secret-client", "/srv/other"]\n')
    shown = json.dumps(made(root))
    assert '"generic": 2' in shown
    assert "secret-client" not in shown


def test_a_fault_that_keeps_counting_from_working_is_named(tmp_path: Path) -> None:
    archive(tmp_path / "state", fragment_of("a", ["one"]))
    (tmp_path / "state" / "derived" / "index.db").write_bytes(b"no database at all" * 512)
    assert made(tmp_path / "state")["status"] == {"fault": "damaged"}


def test_the_log_s_end_is_redacted_and_without_paths(tmp_path: Path, redactor: Redactor) -> None:
    log = tmp_path / "node.log"
    secret = "gh" + "p_" + "a1B2c3D4e5" * 4
    line = {"event": "call_failed", "frames": ["/home/somebody/client/node/x.py:12 f"], "detail": secret}
    log.write_text(json.dumps(line) + "\n")
    (shown,) = last_lines(log, redactor)
    assert secret not in shown
    assert "[REDACTED:token]" in shown
    assert "[PATH]/x.py:12 f" in shown
    for word in ("somebody", "client"):
        assert word not in shown


def test_only_the_last_lines_are_taken(tmp_path: Path, redactor: Redactor) -> None:
    log = tmp_path / "node.log"
    log.write_text("".join(f"line {number}\n" for number in range(500)))
    assert last_lines(log, redactor) == [f"line {number}" for number in range(500 - LOG_LINES, 500)]


def test_a_line_that_was_cut_at_its_front_is_left_out(tmp_path: Path, redactor: Redactor) -> None:
    log = tmp_path / "node.log"
    log.write_text("x" * LOG_BYTES_MAX + "\nwhole\n")
    assert last_lines(log, redactor) == ["whole"]


def test_a_log_that_can_t_be_read_is_said(tmp_path: Path, redactor: Redactor) -> None:
    assert last_lines(tmp_path, redactor) == ["the log can't be read: Is a directory"]


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path, redactor: Redactor) -> None:
    (tmp_path / "node.log").write_bytes(b"a\xffb\x00c\n")
    assert last_lines(tmp_path / "node.log", redactor) == ["a\ufffdb\0c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/srv/client/app/x.py:12 run", "[PATH]/x.py:12 run"),
        ("in [HOME]/work/client", "in [PATH]/client"),
        ('{"path": "/a/b"}', '{"path": "[PATH]/b"}'),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("4 of 5/6 read/write", "4 of 5/6 read/write"),
        ("nothing here", "nothing here"),
    ],
)
def test_of_a_path_the_last_name_is_kept(text: str, expected: str) -> None:
    assert without_paths(text) == expected
