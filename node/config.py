"""Read the settings of this node: the only module that looks at the environment.

A setting comes from a flag, else from the environment, else from `config.toml`, else it has its default.
An unknown key is an error that names the nearest one, never ignored.  Which state directory is meant is
found first and separately, since a command that asks a running node needs nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from crdt.errors import BadInput, SettingsInvalid, Unavailable
from node.paths import StatePaths, fallback_runtime, write_error
from node.state import Environment, StateConfig, find, home_of, passwd_home

if TYPE_CHECKING:
    from node.settings import SETTINGS, CaptureConfig, LogConfig, NodeConfig, Setting

_OF_SETTINGS = ("SETTINGS", "CaptureConfig", "LogConfig", "NodeConfig", "Setting")
"""Names that are offered here and imported when first asked for: they cost a search more than its answer."""
__all__ = [
    "SETTINGS",
    "CaptureConfig",
    "LogConfig",
    "NodeConfig",
    "Setting",
    "capture_roots",
    "find_state",
    "home",
    "homes",
    "load",
    "runtime_directory",
    "transcript_roots",
    "wants_colour",
]


def __getattr__(name: str) -> object:
    """Import what belongs to the settings when it is first asked for."""
    if name not in _OF_SETTINGS:
        raise AttributeError(name)
    from node import settings

    return getattr(settings, name)


def load(
    overrides: Mapping[str, object] | None = None,
    *,
    environ: Environment | None = None,
    directory: Path | None = None,
) -> NodeConfig:
    """Read every setting.  `overrides` are flags by key; `directory` is where the asker stands.

    Raises `SettingsInvalid` that names file, key and the nearest known key, and `BadInput` or `Unavailable`
    for a state directory that is none or can't be read.
    """
    from node.settings import Given, build

    env = os.environ if environ is None else environ
    state = find_state(env, directory)
    _refuse_unsayable(state)
    runtime = runtime_directory(env)
    file = _read_toml(StatePaths(state.path, runtime).config)
    return build(state, runtime, homes(env), Given(flags=overrides or {}, environ=env, file=file))


def find_state(environ: Environment | None = None, directory: Path | None = None) -> StateConfig:
    """Find the state directory for someone who stands in `directory`, by default where we are."""
    return find(os.environ if environ is None else environ, directory)


def home(environ: Environment | None = None) -> Path:
    """Name the home directory: HOME, else the password database's."""
    return home_of(os.environ if environ is None else environ)


def homes(environ: Environment | None = None) -> tuple[str, ...]:
    """List the homes that redaction replaces, longest first: of HOME and of the password database."""
    env = os.environ if environ is None else environ
    found = {folder.rstrip("/") for folder in (env.get("HOME", ""), passwd_home())}
    return tuple(sorted(found - {""}, key=lambda folder: (-len(folder), folder)))


def runtime_directory(environ: Environment | None = None) -> Path:
    """Name the directory for short sockets and what is remembered per terminal; nothing is made."""
    env = os.environ if environ is None else environ
    base = env.get("XDG_RUNTIME_DIR", "")
    return Path(base) / "atrium" if base.startswith("/") else fallback_runtime()


def wants_colour(environ: Environment | None = None) -> bool:
    """Tell whether the terminal's user takes colour, by NO_COLOR and TERM."""
    env = os.environ if environ is None else environ
    return not env.get("NO_COLOR") and env.get("TERM", "") not in ("", "dumb")


def transcript_roots(home_directory: Path, environ: Environment | None = None) -> dict[str, list[str]]:
    """List where each provider keeps transcripts, whether or not the directories exist."""
    from archivist.providers import PROVIDERS

    env = os.environ if environ is None else environ
    return {
        name: [str(root) for root in provider.default_roots(home_directory, env)]
        for name, provider in PROVIDERS.items()
    }


def capture_roots(config: NodeConfig, environ: Environment | None = None) -> dict[str, list[str]]:
    """List the directories to capture from: each provider's own, unless `capture.roots` names others."""
    return {**transcript_roots(home(environ), environ), **config.capture.roots}


def _refuse_unsayable(state: StateConfig) -> None:
    """Refuse a state directory whose path is no text: answers and logs could not name it."""
    try:
        str(state.path).encode("utf-8")
    except UnicodeEncodeError as error:
        hint = "name another directory with ATRIUM_STATE"
        raise BadInput(f"the state directory {str(state.path)!a} is not UTF-8", hint=hint) from error


def _read_toml(path: Path) -> dict[str, object]:
    """Flatten `config.toml` to `section.key`; an absent file has no keys."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except IsADirectoryError as error:
        raise SettingsInvalid(f"{path} can't be read: {error.strerror}") from error
    except PermissionError as error:
        hint = "check who may read the state directory, or name another with ATRIUM_STATE"
        raise Unavailable(f"{path} can't be read: {error.strerror}", hint=hint) from error
    except OSError as error:
        raise write_error(error, path.parent) from error
    import tomllib

    from node.settings import refuse_unknown

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{path}: {error}") from error
    flat: dict[str, object] = {}
    for section, content in document.items():
        for key, value in content.items() if isinstance(content, dict) else ((None, content),):
            name = section if key is None else f"{section}.{key}"
            refuse_unknown(name, str(path))
            flat[name] = value
    return flat
