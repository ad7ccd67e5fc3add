"""The set-up, with real environments and the real installer, on a small project that needs no network."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy import bootstrap
from tests.kit import CHECKOUT, wait_until

SOURCE = CHECKOUT / "deploy" / "bootstrap.py"
PATIENCE_S = 120
"""An environment takes five seconds on a quiet machine, and much longer beside other tests."""

pytestmark = pytest.mark.timeout(5 * PATIENCE_S)

PROGRAM = """
import os, sys

def main():
    print("stand-in", *sys.argv[1:], "in", os.getcwd())
    return 3
"""
"""What stands in for `atrium`, and for pytest."""

BACKEND = """
import os, pathlib, time, zipfile

NAME = pathlib.Path("name").read_text()
PROGRAM = pathlib.Path("program").read_text()
INFO = f"{NAME}-1.dist-info/"

def get_requires_for_build_editable(config_settings=None):
    return []

def get_requires_for_build_wheel(config_settings=None):
    return []

def build_editable(directory, config_settings=None, metadata_directory=None):
    pathlib.Path("building").touch()
    while pathlib.Path("hold").exists():
        time.sleep(0.02)
    return build_wheel(directory)

def build_wheel(directory, config_settings=None, metadata_directory=None):
    if pathlib.Path("broken").exists():
        raise OSError(28, "No space left on device")
    files = {
        f"stand_in_{NAME}.py": PROGRAM,
        f"{INFO}METADATA": f"Metadata-Version: 2.1\\nName: {NAME}\\nVersion: 1\\n",
        f"{INFO}WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{INFO}entry_points.txt": f"[console_scripts]\\n{NAME} = stand_in_{NAME}:main\\n",
        f"{INFO}RECORD": "",
    }
    if NAME == "pytest":
        files["pytest.py"] = PROGRAM + "main()"
    with zipfile.ZipFile(os.path.join(directory, f"{NAME}-1-py3-none-any.whl"), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return f"{NAME}-1-py3-none-any.whl"
"""
"""A build backend without requirements, so that pip needs no index."""


def package(directory: Path, name: str, dev: str) -> None:
    """Write a project that its own backend builds."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "name").write_text(name)
    (directory / "program").write_text(PROGRAM)
    (directory / "backend.py").write_text(BACKEND)
    (directory / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "1"\n[dependency-groups]\ndev = [{dev}]\n'
    )


def make_checkout(base: Path) -> Path:
    """Make a small project in a path with a space, with the real bootstrap in its `deploy`."""
    root = base / "my checkout"
    package(base / "tester", "pytest", "")
    package(root, "atrium", f'"pytest @ {(base / "tester").as_uri()}"')
    (root / "deploy").mkdir()
    shutil.copy(SOURCE, root / "deploy")
    return root


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Give a fresh clone."""
    return make_checkout(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a clone with a finished environment for running; every test leaves it finished."""
    root = make_checkout(tmp_path_factory.mktemp("finished"))
    rc, out, err = run(root, "up", "--port", "1")
    assert (rc, out) == (3, f"stand-in up --port 1 in {root.parent}\n"), err
    assert "Set up in" in err
    return root


def environment() -> dict[str, str]:
    """Name the variables of a caller without a network, whose own settings would lead pip astray."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    astray = {
        "PIP_NO_INDEX": "1",
        "PIP_USER": "1",
        "PIP_TARGET": "/nonexistent",
        "PYTHONPATH": "/nonexistent",
    }
    return {**kept, **astray, "PIP_CONFIG_FILE": os.devnull}


@contextmanager
def started(checkout: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start the bootstrap from another directory; it is ended with the block if it still runs."""
    with subprocess.Popen(
        [sys.executable, str(checkout / "deploy" / "bootstrap.py"), *words],
        cwd=checkout.parent,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            (checkout / "hold").unlink(missing_ok=True)


def run(checkout: Path, *words: str) -> tuple[int, str, str]:
    """Run it to its end: exit status, output, errors."""
    with started(checkout, *words) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err


@contextmanager
def building(checkout: Path, word: str) -> Iterator[subprocess.Popen[str]]:
    """Start a set-up and give it while its installer is at work, held there until `hold` is gone."""
    (checkout / "building").unlink(missing_ok=True)
    (checkout / "hold").touch()
    with started(checkout, word) as process:
        wait_until((checkout / "building").exists, "the installer builds", timeout_s=PATIENCE_S)
        yield process


def works_at_once(checkout: Path) -> bool:
    """Tell whether the environment is used as it is."""
    return run(checkout, "up") == (3, f"stand-in up in {checkout.parent}\n", "")


def test_a_path_with_spaces_another_directory_and_a_misleading_environment_are_no_obstacle(
    finished: Path,
) -> None:
    assert run(finished, "search", "x") == (3, f"stand-in search x in {finished.parent}\n", "")
    assert sorted(path.name for path in finished.glob(".venv*")) == [".venv", ".venv.lock"]


def test_a_finished_environment_costs_next_to_nothing(finished: Path) -> None:
    bare = min(_seconds([str(finished / ".venv" / "bin" / "atrium"), "up"]) for _ in range(3))
    through = min(
        _seconds([sys.executable, str(finished / "deploy" / "bootstrap.py"), "up"]) for _ in range(3)
    )
    assert through - bare < 0.5


def _seconds(command: list[str]) -> float:
    before = time.monotonic()
    subprocess.run(command, env=environment(), capture_output=True, timeout=60, check=False)
    return time.monotonic() - before


def test_a_failed_update_keeps_the_environment_that_worked(finished: Path) -> None:
    (finished / "broken").touch()
    assert run(finished, "test")[0] == 1
    (finished / "broken").unlink()
    assert works_at_once(finished)


def test_a_killed_update_brings_back_the_environment_that_worked(finished: Path) -> None:
    with building(finished, "test") as update:
        update.kill()
    assert (finished / ".venv.old").exists()

    (finished / "broken").touch()
    assert run(finished, "test")[0] == 1
    (finished / "broken").unlink()
    assert works_at_once(finished)
    assert not (finished / ".venv.old").exists()


def test_what_the_tests_need_includes_what_running_needs_and_survives_a_changed_project(
    checkout: Path,
) -> None:
    rc, out, err = run(checkout, "test", "-k", "one")
    assert (rc, out) == (0, f"stand-in -k one in {checkout}\n"), err
    assert works_at_once(checkout)
    with (checkout / "pyproject.toml").open("a") as project:
        project.write("# changed\n")
    assert "Set up in" in run(checkout, "up")[2]
    assert run(checkout, "test")[2] == ""


def test_a_failed_install_says_what_why_and_what_next_and_leaves_nothing(checkout: Path) -> None:
    (checkout / "broken").touch()
    rc, out, err = run(checkout, "up")
    assert (rc, out) == (1, "")
    assert "error: the packages could not be installed: the disk is full.\n" in err
    assert f"hint: mend that and run again: {Path(sys.executable).name} " in err
    assert "'" + str(checkout / "deploy" / "bootstrap.py") + "' up" in err
    assert "Traceback" not in err.replace("  | ", "")
    assert not (checkout / ".venv").exists()


def test_an_interrupted_set_up_leaves_nothing(checkout: Path) -> None:
    with building(checkout, "up") as interrupted:
        interrupted.send_signal(signal.SIGINT)
        _, err = interrupted.communicate(timeout=PATIENCE_S)
    assert interrupted.returncode == 130
    assert err.endswith("stopped: the next run starts the set-up again\n")
    assert not (checkout / ".venv").exists()


def test_a_killed_set_up_starts_again_beside_the_installer_that_outlived_it(checkout: Path) -> None:
    with building(checkout, "up") as killed:
        killed.kill()
        killed.wait(timeout=PATIENCE_S)
        with started(checkout, "up") as second:
            assert second.stderr is not None
            assert second.stderr.readline() == "Waiting for another set-up of this checkout to end\n"
            (checkout / "hold").unlink()
            out, err = second.communicate(timeout=PATIENCE_S)
    assert (second.returncode, out) == (3, f"stand-in up in {checkout.parent}\n"), err


def test_a_moved_checkout_is_set_up_anew(checkout: Path) -> None:
    run(checkout, "up")
    moved = checkout.rename(checkout.parent / "elsewhere")
    rc, out, err = run(moved, "up")
    assert (rc, out) == (3, f"stand-in up in {moved.parent}\n")
    assert "Set up in" in err


def test_a_python_without_ensurepip_names_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        bootstrap.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object()
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(bootstrap.SetupFailed) as failure:
        bootstrap.venv_command(tmp_path / ".venv")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert failure.value.mend == f"on Debian and Ubuntu run: sudo apt install python{version}-venv"


@pytest.mark.parametrize("tool", ["virtualenv", "uv"])
def test_without_ensurepip_another_tool_makes_the_environment(
    tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / tool).write_text("#!/bin/sh\n")
    (tmp_path / tool).chmod(0o755)
    command = bootstrap.venv_command(tmp_path / ".venv")
    assert command[0] == str(tmp_path / tool)
    assert command[-3:] == ["--python", sys.executable, str(tmp_path / ".venv")]


def test_an_old_python_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    assert bootstrap.main(["up"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "error: Atrium needs Python 3.11 or newer, and this is Python 3.9.2.",
        "hint: install Python 3.11 and run: python3.11 deploy/bootstrap.py up",
    ]


def test_an_old_python_can_read_the_file() -> None:
    ast.parse(SOURCE.read_text("utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize(("words", "status"), [([], 2), (["--help"], 0)])
def test_help_shows_the_commands(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main(words) == status
    assert "python3 deploy/bootstrap.py up" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "ERROR: NewConnectionError: Failed to establish a new connection",
            "no connection to the package index",
        ),
        ("WARNING: Temporary failure in name resolution", "no connection to the package index"),
        ("ERROR: No matching distribution found for x", "the package index has no fitting release"),
        ("ERROR: Something else.", "Something else"),
        ("nothing of use", "see its last lines above"),
    ],
)
def test_the_installer_s_log_is_put_into_words(
    line: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why in bootstrap.installer_failure(["Collecting x", line]).why
    assert line in capsys.readouterr().err


def test_a_directory_that_can_t_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.setattr(bootstrap.os, "open", refuse)
    with pytest.raises(bootstrap.SetupFailed, match="Permission denied") as failure:
        bootstrap.ensure(bootstrap.Checkout(tmp_path), bootstrap.RUN)
    assert str(tmp_path) in failure.value.what
