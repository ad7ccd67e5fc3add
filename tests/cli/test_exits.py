"""Every error becomes a status and a few plain lines."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli import exits
from crdt import errors
from crdt.errors import AtriumError
from tests.cli.conftest import Shell
from tests.kit import CHECKOUT


def every_error() -> list[type[AtriumError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in found if issubclass(kind, AtriumError)]


def fail(error: BaseException) -> int:
    def work() -> int:
        raise error

    return exits.guarded(work)


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.code)
def test_an_error_of_ours_is_two_lines_and_its_status(
    kind: type[AtriumError], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail(kind("what is wrong", hint="what mends it")) == kind.exit_status
    assert capsys.readouterr() == ("", "atrium: what is wrong\nhint: what mends it\n")


def test_statuses_are_the_agreed_ones() -> None:
    assert {kind.exit_status for kind in every_error()} == {1, 2, 3, 75, 130}


def test_an_error_without_hint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    fail(AtriumError("what is wrong", hint=""))
    assert capsys.readouterr().err == "atrium: what is wrong\n"


def test_a_line_stays_a_line_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    exits.say("a\nb\x1b[31m\x00\udcff\u2028c " + "x" * 5000)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("a b")
    assert "\x1b" not in line
    assert len(line) <= exits.LINE_CHARS_MAX


def test_ctrl_c_says_that_it_is_safe(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail(KeyboardInterrupt()) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert "safe to run the same command again" in said.err
    assert len(said.err.splitlines()) == 1


def test_sigterm_ends_as_ctrl_c_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail(exits.Terminated()) == 143
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_full_disk_is_told_as_one_wherever_it_showed(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail(OSError(errno.ENOSPC, "No space left on device", "/a/b")) == 1
    assert "free some space" in capsys.readouterr().err


def test_what_the_system_refuses_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail(PermissionError(13, "Permission denied", "/a/b")) == 1
    assert capsys.readouterr().err.startswith("atrium: Permission denied: /a/b\n")


def test_a_bug_is_one_line_and_leaves_its_frames_without_its_message(shell: Shell) -> None:
    shell.world.state.mkdir()
    assert fail(LookupError("a secret of a transcript")) == 1
    log = shell.world.state / "errors.log"
    assert "LookupError" in log.read_text()
    assert "work" in log.read_text()
    assert "secret" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_bug_says_where_its_frames_are(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.world.state.mkdir()
    fail(LookupError("a secret of a transcript"))
    said = capsys.readouterr().err
    assert str(shell.world.state / "errors.log") in said
    assert "LookupError" in said
    assert "secret" not in said
    assert len(said.splitlines()) == 2


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    code = "import sys; from cli.group import run; sys.exit(run(['--help']))"
    reading, writing = os.pipe()
    os.close(reading)
    environment = {"PYTHONPATH": str(CHECKOUT), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (exits.PIPE_CLOSED, b"")


def test_a_path_below_home_is_shown_with_a_tilde(shell: Shell) -> None:
    assert exits.shown(shell.world.home / "x") == "~/x"
    assert exits.shown(Path("/elsewhere/x")) == "/elsewhere/x"
    assert exits.shown(Path(f"{shell.world.home}er/x")) == f"{shell.world.home}er/x"
