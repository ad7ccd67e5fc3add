"""`atrium doctor`."""

from __future__ import annotations

import json

from tests.cli.conftest import Shell


def test_doctor_is_content_and_names_each_check(filled: Shell) -> None:
    said = filled.run("doctor").ok()
    assert "ok      configuration: configuration_ok" in said.out
    assert filled.run("doctor", "--json").document()["ok"] is True


def test_doctor_ends_with_1_when_something_is_broken(filled: Shell) -> None:
    (filled.world.state / "last-refresh").write_text("1000000")
    said = filled.run("doctor")
    assert said.rc == 1
    assert "BROKEN" in said.out


def test_doctor_mends_and_says_so(filled: Shell) -> None:
    filled.world.state.chmod(0o755)
    assert "mended  closed 1 files" in filled.run("doctor", "--fix").ok().out
    assert filled.world.state.stat().st_mode & 0o777 == 0o700


def test_the_doctor_s_report_is_shown_and_written(filled: Shell) -> None:
    said = filled.run("doctor", "--report").ok()
    path = filled.world.work / "atrium-report.json"
    assert json.loads(path.read_text())["versions"]["atrium"] == "0.1.0"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().strip() in said.out
    assert str(filled.world.home) not in path.read_text()
