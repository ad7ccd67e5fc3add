"""Find the state directory: which one is meant, and why.

First hit wins: ATRIUM_STATE; SYNTOPICA_DATA, a directory whose declaration names it; the nearest enclosing
declaration; `.atrium` in the home directory.  A declaration that can't be read is reported, not skipped:
to go on with another directory would split a person's memory in two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from crdt.errors import SettingsInvalid

SHARED_FILE = "syntopica.config.json"
LOCAL_FILE = "syntopica.local.json"
ANCESTORS_MAX = 256
"""Directories that are looked at on the way up; deeper ones are no place where people work."""

StateSource = Literal["explicit_state", "configured", "default_path", "missing", "invalid"]
Environment = Mapping[str, str]


class StateConfig(NamedTuple):
    """Where the state is, and why there; a tuple, since every search pays for making this class.

    `source` is `missing` or `invalid` when a declaration was to be followed and could not be read: reads
    then answer from `path` and say so, writes refuse.  `declared_by` names the variable or the file.
    """

    path: Path
    source: StateSource
    declared_by: str


def find(environ: Environment, directory: Path | None = None) -> StateConfig:
    """Find the state directory for someone who stands in `directory`, by default where we are.

    An enclosing declaration counts inside the repository around `directory` and in the plain directories
    above it; the next repository on the way up ends the search.  Raises `SettingsInvalid` where nothing
    names one and the home directory is not known.
    """
    if explicit := environ.get("ATRIUM_STATE"):
        return StateConfig(path=_absolute(explicit), source="explicit_state", declared_by="ATRIUM_STATE")
    if data := environ.get("SYNTOPICA_DATA"):
        return _declared(_absolute(data), "SYNTOPICA_DATA")
    enclosing = _enclosing(directory or _working_directory())
    if enclosing is not None:
        return _declared(enclosing, SHARED_FILE)
    home = home_of(environ)
    if not home.is_absolute():
        raise SettingsInvalid(
            "it is not known where your home directory is",
            hint="set HOME, or name the state directory with ATRIUM_STATE",
        )
    return StateConfig(path=home / ".atrium", source="default_path", declared_by="default")


def refuse_doubtful(state: StateConfig) -> None:
    """Raise `SettingsInvalid` before a write whose state directory follows from nothing that can be read."""
    if state.source == "missing":
        raise SettingsInvalid(
            f"{state.declared_by} names {state.path.parent}, which has no {SHARED_FILE}",
            hint="correct SYNTOPICA_DATA, or name the state directory with ATRIUM_STATE",
        )
    if state.source == "invalid":
        raise SettingsInvalid(
            f"{state.path.parent / state.declared_by} does not say where the state directory is",
            hint='it must be JSON such as {"atrium": {"path": "atrium"}}',
        )


def home_of(environ: Environment) -> Path:
    """Name the home directory: HOME where it is absolute, else the password database's; empty for none."""
    given = environ.get("HOME", "")
    return Path(given if given.startswith(os.sep) else passwd_home())


def passwd_home() -> str:
    """Give the home directory of the password database, empty where it doesn't know us."""
    if sys.platform == "win32":
        return ""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        # Containers run under numbers that no password database knows.
        return ""


def _declared(folder: Path, by: str) -> StateConfig:
    """Follow a declaration in `folder`; the private file outranks the shared one."""
    for name in (LOCAL_FILE, SHARED_FILE):
        try:
            declared = _declared_path(folder / name)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return StateConfig(path=folder / "atrium", source="invalid", declared_by=name)
        if declared is not None:
            return StateConfig(path=_below(folder, declared), source="configured", declared_by=by)
    found = any((folder / name).is_file() for name in (LOCAL_FILE, SHARED_FILE))
    return StateConfig(path=folder / "atrium", source="configured" if found else "missing", declared_by=by)


def _declared_path(file: Path) -> str | None:
    """Read `atrium.path`; None where the file declares none."""
    import json

    document = json.loads(file.read_text("utf-8"))
    section = document.get("atrium", {}) if isinstance(document, dict) else None
    if not isinstance(section, dict):
        raise ValueError("`atrium` must be an object")  # noqa: TRY004 - caught as one kind of error
    path = section.get("path")
    if path is not None and (not isinstance(path, str) or not path or "\0" in path):
        raise ValueError("`atrium.path` must be a path")
    return path


def _enclosing(directory: Path) -> Path | None:
    own = False
    for folder in (directory, *directory.parents)[:ANCESTORS_MAX]:
        repository = (folder / ".git").exists()
        if repository and own:
            return None
        if (folder / SHARED_FILE).is_file():
            return folder
        own = own or repository
    return None


def _below(folder: Path, declared: str) -> Path:
    return Path(os.path.normpath(folder / os.path.expanduser(declared)))  # noqa: PTH111 - never raises


def _absolute(text: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(text)))  # noqa: PTH100, PTH111 - links stay, never raises


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The directory under our feet was removed; a declaration can't be found from there.
        return Path(os.path.abspath(os.sep))  # noqa: PTH100
