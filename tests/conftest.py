"""What every test has: no other machine, no settings of the caller, and a world of its own on request."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import World
from tests.loopback import block_other_machines

FOREIGN = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "SYNTOPICA_DATA", "OPENCODE_DATA_DIR")
FOREIGN_PREFIXES = ("ATRIUM_", "XDG_")


def pytest_configure() -> None:
    """Take Ctrl-C again where a shell has it ignored for what runs behind it; processes inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections to other machines."""
    block_other_machines(monkeypatch)


@pytest.fixture(autouse=True)
def nobody_s_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the caller's environment says of agents, settings and state."""
    for name in os.environ:
        if name in FOREIGN or name.startswith(FOREIGN_PREFIXES):
            monkeypatch.delenv(name)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Give a world; a node that a test left in it is ended."""
    made = World(tmp_path)
    yield made
    stop = getattr(made, "stop_node", None)
    if stop is not None:
        stop()
    # Of passed tests, too, the directories stay for a while, and a node's reserve is 64 MiB.
    if made.state.is_dir():
        (made.state / "ballast").unlink(missing_ok=True)
