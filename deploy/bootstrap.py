"""Set up `.venv` in this checkout with the standard library alone, then start what was asked for.

    python3 deploy/bootstrap.py up [options]      what running needs, then `atrium up`
    python3 deploy/bootstrap.py test [options]    what the tests need too, then pytest
    python3 deploy/bootstrap.py check             the same, then lint, format, types and layers
    python3 deploy/bootstrap.py WORD [options]    what running needs, then `atrium WORD`

Invariants:

- The stamp in `.venv` is written last.  An environment without a stamp is unfinished, whatever ended the run
  that made it, and the next run makes it anew.
- The environment that worked is moved aside while its successor is made, and comes back when that fails:
  neither a missing network nor a kill costs a set-up that worked.
- One set-up at a time for each checkout.  The installer holds the lock too, so that one that outlives a
  killed set-up is waited for.
- All that this file says goes to standard error; standard output belongs to the command that it starts.
- Any Python from 3.8 can read this file, so that an old one answers with a sentence.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

OLDEST_PYTHON = (3, 11)
LOCK_WAIT_S = 900
"""How long to wait for another set-up of the same checkout: several times what a slow one takes."""
LOCK_POLL_S = 0.2
LOG_LINES_KEPT = 400
LOG_LINES_SHOWN = 6
RUN, DEV = "run", "dev"
CHECKS = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",), ("lint-imports",))
LEADING_ASTRAY = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "__PYVENV_LAUNCHER__")
"""Variables of the caller that would make pip install elsewhere than into `.venv`."""
REASONS = (
    ("No space left on device", "the disk is full"),
    ("Temporary failure in name resolution", "there is no connection to the package index"),
    ("Failed to establish a new connection", "there is no connection to the package index"),
    ("Connection refused", "there is no connection to the package index"),
    ("Network is unreachable", "there is no connection to the package index"),
    ("timed out", "the package index does not answer"),
    ("CERTIFICATE_VERIFY_FAILED", "the package index's certificate is not trusted here"),
    ("No matching distribution found", "the package index has no fitting release"),
    ("Permission denied", "a file can't be written"),
)
"""Text in the installer's log, and what it means; the first that is found is told."""


class SetupFailed(Exception):
    """The set-up can't go on: what failed, why, and the command that mends it."""

    def __init__(self, what: str, why: str, mend: str) -> None:
        """Keep three parts of one sentence each."""
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.mend = what, why, mend


class Stamp(NamedTuple):
    """What a finished environment was made from; `packages` is `run` or `dev`, which includes `run`.

    `root` is the checkout, since scripts in an environment name it and a moved one must be made anew.
    """

    pyproject_sha256: str
    python: str
    root: str
    packages: str


class Checkout:
    """Where things are in one checkout."""

    def __init__(self, root: Path) -> None:
        """Take the directory that holds `pyproject.toml`."""
        self.root = root
        self.pyproject = root / "pyproject.toml"
        self.venv = root / ".venv"
        self.aside = root / ".venv.old"
        self.lock = root / ".venv.lock"

    @property
    def stamp(self) -> Path:
        """Name the file that makes an environment a finished one."""
        return self.venv / "atrium-setup"

    def script(self, name: str) -> str:
        """Name a program of the environment."""
        return str(self.venv / "bin" / name)


def main(arguments: list[str]) -> int:
    """Set up and hand over; return an exit status only where nothing was handed over."""
    if sys.version_info < OLDEST_PYTHON:
        say(
            "error: Atrium needs Python 3.11 or newer, and this is Python {}.{}.{}.\n"
            "hint: install Python 3.11 and run: python3.11 deploy/bootstrap.py up".format(
                *sys.version_info[:3]
            )
        )
        return 1
    if not arguments or arguments[0] in ("-h", "--help"):
        say((__doc__ or "").partition("\n\nInvariants")[0])
        return 0 if arguments else 2
    try:
        return dispatch(Checkout(Path(__file__).resolve().parent.parent), arguments[0], arguments[1:])
    except SetupFailed as failure:
        say(f"error: {failure.what}: {failure.why}.\nhint: {failure.mend}")
        return 1
    except KeyboardInterrupt:
        say("\nstopped: the next run starts the set-up again")
        return 130


def dispatch(checkout: Checkout, word: str, rest: list[str]) -> int:
    """Make the environment ready for the word, then become its program (`check` returns instead)."""
    if word == "check":
        ensure(checkout, DEV)
        return check(checkout)
    if word == "test":
        ensure(checkout, DEV)
        os.chdir(checkout.root)
        return become([checkout.script("python"), "-m", "pytest", *rest])
    ensure(checkout, RUN)
    return become([checkout.script("atrium"), word, *rest])


def become(command: list[str]) -> NoReturn:
    """Replace this process by a program of the environment."""
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        raise SetupFailed(command[0], error.strerror or str(error), f"run again: {again()}") from error


def check(checkout: Checkout) -> int:
    """Run every check even after one failed; return 1 if any did."""
    failed = []
    for name, *options in CHECKS:
        say("$ " + " ".join((name, *options)))
        if subprocess.run([checkout.script(name), *options], cwd=checkout.root, check=False).returncode:
            failed.append(" ".join((name, *options)))
    if failed:
        say("failed: " + ", ".join(failed))
    return 1 if failed else 0


def ensure(checkout: Checkout, packages: str) -> None:
    """Return once a finished environment with these packages is there; make it if it is not."""
    if is_ready(checkout, packages):
        return
    with locked(checkout) as lock:
        recover(checkout)
        if is_ready(checkout, packages):
            return
        previous = read_stamp(checkout)
        if previous is not None and previous.packages == DEV:
            packages = DEV
        started = time.monotonic()
        say(f"Setting up {checkout.venv} (once; about a minute on a good connection)")
        with replacing(checkout):
            run_installer(checkout, venv_command(checkout.venv), lock)
            run_installer(checkout, install_command(checkout, packages), lock)
            write_stamp(checkout, wanted_stamp(checkout, packages))
        say(f"Set up in {time.monotonic() - started:.0f} s")


def is_ready(checkout: Checkout, packages: str) -> bool:
    """Tell whether the environment is finished, made from this pyproject.toml, and has these packages."""
    found = read_stamp(checkout)
    if found is None or not os.access(checkout.script("python"), os.X_OK):
        return False
    return found in (wanted_stamp(checkout, packages), wanted_stamp(checkout, DEV))


def wanted_stamp(checkout: Checkout, packages: str) -> Stamp:
    """Say what the environment must have been made from.  A patch release of Python changes nothing."""
    try:
        digest = hashlib.sha256(checkout.pyproject.read_bytes()).hexdigest()
    except OSError as error:
        raise SetupFailed(
            str(checkout.pyproject), error.strerror or str(error), "clone the repository again"
        ) from error
    return Stamp(digest, "{}.{}".format(*sys.version_info[:2]), str(checkout.root), packages)


def read_stamp(checkout: Checkout) -> Stamp | None:
    """Read the stamp; None for none, and for one that another version of this file wrote."""
    try:
        lines = checkout.stamp.read_text("utf-8").splitlines()
    except OSError:
        return None
    return Stamp(*lines) if len(lines) == len(Stamp._fields) else None


def write_stamp(checkout: Checkout, stamp: Stamp) -> None:
    """Declare the environment finished; the file appears whole or not at all."""
    unfinished = checkout.stamp.with_suffix(".new")
    unfinished.write_text("\n".join(stamp) + "\n", "utf-8")
    unfinished.replace(checkout.stamp)


@contextlib.contextmanager
def locked(checkout: Checkout) -> Iterator[int]:
    """Hold the checkout's lock; gives its descriptor, for the installer to inherit."""
    try:
        lock = os.open(checkout.lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise SetupFailed(
            f"nothing can be set up in {checkout.root}",
            error.strerror or str(error),
            "clone the repository to a directory of your own",
        ) from error
    try:
        wait_for_lock(lock)
        yield lock
    finally:
        os.close(lock)


def wait_for_lock(lock: int) -> None:
    """Take the lock, waiting for another set-up of this checkout at most `LOCK_WAIT_S`."""
    deadline = time.monotonic() + LOCK_WAIT_S
    announced = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SetupFailed(
                    "the set-up", "another one still holds the lock", "end it, then run this again"
                ) from None
        else:
            return
        if not announced:
            say("Waiting for another set-up of this checkout to end")
            announced = True
        time.sleep(LOCK_POLL_S)


def recover(checkout: Checkout) -> None:
    """Clear away what a killed set-up left, and bring back the environment that it had moved aside."""
    if not os.path.lexists(checkout.aside):
        return
    if read_stamp(checkout) is not None:
        remove(checkout.aside)
        return
    remove(checkout.venv)
    checkout.aside.rename(checkout.venv)


@contextlib.contextmanager
def replacing(checkout: Checkout) -> Iterator[None]:
    """Move the environment aside for the block, and bring it back if the block fails."""
    had_one = os.path.lexists(checkout.venv)
    if had_one:
        checkout.venv.rename(checkout.aside)
    try:
        yield
    except BaseException:
        remove(checkout.venv)
        if had_one:
            checkout.aside.rename(checkout.venv)
        raise
    remove(checkout.aside)


def remove(path: Path) -> None:
    """Remove a directory with all in it, or a link without what it points at; it need not be there."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def venv_command(venv: Path) -> list[str]:
    """Choose what makes the environment: this Python, else virtualenv, else uv.

    Debian keeps `ensurepip`, without which `venv` can't give an environment its pip, in a package of its own.
    """
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return [sys.executable, "-I", "-m", "venv", str(venv)]
    virtualenv, uv = shutil.which("virtualenv"), shutil.which("uv")
    if virtualenv:
        return [virtualenv, "--quiet", "--python", sys.executable, str(venv)]
    if uv:
        return [uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(venv)]
    package = "python{}.{}-venv".format(*sys.version_info[:2])
    raise SetupFailed(
        "no environment can be made",
        f"{sys.executable} comes without ensurepip",
        f"on Debian and Ubuntu run: sudo apt install {package}",
    )


def install_command(checkout: Checkout, packages: str) -> list[str]:
    """Install the project in place, with the dev group's requirements if asked for.

    The group is read here, since the pip that comes with Python 3.11 does not know groups.
    """
    command = [checkout.script("python"), "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    return [*command, "--editable", ".", *(dev_requirements(checkout) if packages == DEV else ())]


def dev_requirements(checkout: Checkout) -> list[str]:
    """Read the dev group of `pyproject.toml`."""
    import tomllib

    try:
        group = tomllib.loads(checkout.pyproject.read_text("utf-8"))["dependency-groups"]["dev"]
    except (ValueError, KeyError) as error:
        raise SetupFailed(
            str(checkout.pyproject), f"{error} (in the dev group)", "git checkout pyproject.toml"
        ) from error
    return [str(requirement) for requirement in group]


def run_installer(checkout: Checkout, command: list[str], lock: int) -> None:
    """Run to the end, showing its last line on a terminal; raise with what its log says went wrong."""
    environment = {name: value for name, value in os.environ.items() if name not in LEADING_ASTRAY}
    environment.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PYTHONUNBUFFERED="1")
    log: deque[str] = deque(maxlen=LOG_LINES_KEPT)
    child = subprocess.Popen(
        command,
        cwd=checkout.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        pass_fds=(lock,),
    )
    with child:
        try:
            for line in child.stdout or ():
                log.append(line.rstrip())
                show(line)
        except BaseException:
            child.kill()
            raise
    show("")
    if child.returncode:
        raise installer_failure(list(log))


def installer_failure(log: list[str]) -> SetupFailed:
    """Say in words why the installer failed, after what its log has of it."""
    log = [line.strip() for line in log if line.strip()]
    told = [line for line in log if line.lower().startswith("error:")]
    say("\n".join(f"  | {line}" for line in (told or log)[-LOG_LINES_SHOWN:]))
    found = [why for text, why in REASONS if any(text in line for line in log)]
    why = [*found, *(line[len("error:") :].strip(" .") for line in told[:1]), "see its last lines above"]
    return SetupFailed("the packages could not be installed", why[0], f"mend that and run again: {again()}")


def again() -> str:
    """Spell the command that the person gave, to be pasted."""
    return shlex.join([Path(sys.executable).name, *sys.argv])


def show(line: str) -> None:
    """Show one line of the installer in place, on a terminal only."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 3
        print(f"\r\x1b[K{('  ' + line.strip())[:width]}", end="", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Tell the person; never on standard output, which belongs to the command that is started."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
