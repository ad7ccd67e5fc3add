"""Run many commands of one world, each in a process of its own, at a tenth of what starting Python costs.

One child imports the program and forks for every command, so each runs `cli.main.main` as a fresh process
does, with its own argv, streams and exit status.  Between commands a step may be a line of shell, and all of
them can stand in a mount namespace of their own.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from tests.kit import CHECKOUT, World

TIMEOUT_S = 100
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Takes from root what lets it pass by the modes of files; anybody else needs no such thing."""
NAMESPACE = ("unshare", "--mount")
BUGS = ("Traceback", ", a bug")
IMPORTS = ("click", "archivist.capture", "archivist.ingest", "node.composition", "cli.group")
STDERR_LINES_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one command gave; `out` as bytes, since it has to be UTF-8 to be right."""

    words: tuple[str, ...]
    rc: int
    out: bytes
    err: str
    rss_bytes: int

    def ok(self) -> Said:
        """Check that it succeeded."""
        assert self.rc == 0, self
        return self

    def document(self) -> dict[str, object]:
        """Read the one JSON document, which is UTF-8."""
        found = json.loads(self.ok().out.decode("utf-8"))
        assert isinstance(found, dict)
        return found

    def refused(self, rc: int, *named: str) -> Said:
        """Check a refusal: its status, empty standard output, at most three lines that name the words."""
        assert (self.rc, self.out) == (rc, b""), self
        return self.explained(*named)

    def explained(self, *named: str) -> Said:
        """Check that standard error says in at most three lines what is wrong, and no bug."""
        lines = self.err.splitlines()
        assert 1 <= len(lines) <= STDERR_LINES_MAX, self
        assert any(line.startswith("atrium: ") for line in lines), self
        assert not [word for word in BUGS if word in self.err], self
        missing = [word for word in named if word not in self.err]
        assert not missing, (missing, self)
        return self


def run(world: World, *words: str, env: Mapping[str, str | None] | None = None) -> Said:
    """Run one command."""
    return run_all(world, [words], env=env)[0]


def run_all(
    world: World,
    steps: Sequence[Sequence[str] | str],
    *,
    before: Sequence[str] = (),
    env: Mapping[str, str | None] | None = None,
) -> list[Said]:
    """Run commands (words) and lines of shell (text) in order and give what the commands said.

    `before` are words that start the common parent, such as `NAMESPACE`; a variable that is None is unset.
    A command's first words may be `NAME=value`, and `!NAME` to unset a variable, for it alone.
    """
    own = {"XDG_RUNTIME_DIR": str(world.base / "run"), "ATRIUM_PORT": "0"}
    variables = {**world.environment(), **own, **(env or {})}
    asked = {
        "steps": [step if isinstance(step, str) else list(step) for step in steps],
        "directory": str(world.work),
    }
    done = subprocess.run(
        [*before, sys.executable, "-m", "tests.e2e.commands"],
        input=json.dumps(asked),
        env={name: value for name, value in variables.items() if value is not None},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [
        Said(words=tuple(words), rc=rc, out=out.encode("latin-1"), err=_text(err), rss_bytes=rss * 1024)
        for words, rc, out, err, rss in json.loads(done.stdout)
    ]


def _text(data: str) -> str:
    return data.encode("latin-1").decode("utf-8", "replace")


def main() -> None:
    """Be the parent: read the steps, run them, write what the commands said."""
    for name in IMPORTS:
        importlib.import_module(name)
    asked = json.load(sys.stdin)
    said = []
    for step in asked["steps"]:
        if isinstance(step, str):
            subprocess.run(step, shell=True, check=True, stdout=sys.stderr)  # noqa: S602 - tests' own lines
        else:
            said.append(_run(step, asked["directory"]))
    json.dump(said, sys.stdout)


def _run(words: list[str], directory: str) -> tuple[list[str], int, str, str, int]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _be_the_command(words, directory, (out.fileno(), err.fileno()))
        _, status, usage = os.wait4(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("latin-1"))
        return words, os.waitstatus_to_exitcode(status), texts[0], texts[1], usage.ru_maxrss


def _with_variables(words: list[str]) -> list[str]:
    """Set the variables that stand before a command and give the rest."""
    rest = list(words)
    while rest and (rest[0].startswith("!") or rest[0].partition("=")[0].isupper()):
        name, _, value = rest.pop(0).partition("=")
        if name.startswith("!"):
            os.environ.pop(name[1:], None)
        else:
            os.environ[name] = value
    return rest


def _be_the_command(words: list[str], directory: str, streams: tuple[int, int]) -> NoReturn:
    status: object = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in enumerate((nothing, *streams)):
            os.dup2(descriptor, number)
        os.chdir(directory)
        sys.argv = [f"{CHECKOUT}/cli/main.py", *_with_variables(words)]
        from cli.main import main as command

        command()
    except SystemExit as end:
        status = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    main()
