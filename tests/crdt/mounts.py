"""Run a test's code beside a real full or read-only file system, or say why that can't be done here.

A child process gets a mount namespace of its own where the kernel allows it, so that nothing of it is left
behind however the child ends.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.kit import CHECKOUT

TIMEOUT_S = 60


@cache
def can_mount() -> bool:
    """Tell whether a child may mount a small file system of its own."""
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "none", "/mnt"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=TIMEOUT_S, check=False).returncode == 0
    except OSError:
        return False


def run_on_small_disk(folder: Path, size: str, code: str) -> str:
    """Run Python code that sees a file system of that size at `folder`; give what it printed."""
    mount = f'mount -t tmpfs -o size={size},mode=700 none "$0" && exec "$1" -c "$2" "$0"'
    return _run(["unshare", "--mount", "sh", "-c", mount, str(folder), sys.executable, code])


def run_read_only(folder: Path, code: str) -> str:
    """Run Python code for which everything below `folder` is read-only; give what it printed."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$1" -c "$2" "$0"'
    return _run(["unshare", "--mount", "sh", "-c", mount, str(folder), sys.executable, code])


def run_with_small_files(folder: Path, size_bytes: int, code: str) -> str:
    """Run Python code that can't write beyond so many bytes of any file; give what it printed."""
    limited = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size_bytes}, {size_bytes}))\n"
    )
    return _run([sys.executable, "-c", limited + code, str(folder)])


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
