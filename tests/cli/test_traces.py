"""Where the frames of a bug go."""

from __future__ import annotations

from cli import traces
from tests.cli.conftest import Shell


def bug() -> ValueError:
    try:
        int("a secret")
    except ValueError as error:
        return error
    raise AssertionError


def test_without_a_state_directory_they_go_to_the_runtime_directory(shell: Shell) -> None:
    path = traces.leave_trace(bug())
    assert path == shell.world.base / "run" / "atrium" / "errors.log"
    assert "in bug" not in path.read_text()
    assert "bug" in path.read_text()
    assert not shell.world.state.exists()


def test_where_nothing_can_be_written_nothing_is_said(shell: Shell) -> None:
    (shell.world.base / "run").write_text("in the way")
    assert traces.leave_trace(bug()) is None


def test_the_file_stays_small(shell: Shell) -> None:
    shell.world.state.mkdir()
    path = shell.world.state / "errors.log"
    path.write_bytes(b"x" * (traces.LOG_BYTES_MAX + 1))
    traces.leave_trace(bug())
    assert path.stat().st_size < 10_000
