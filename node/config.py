"""Read the settings of this node: the only module that looks at the environment.

A setting comes from a flag, else from the environment, else from `config.toml`, else it has its default.
An unknown key is an error that names the nearest one, never ignored.  Which state directory is meant is
found first and separately, since a command that asks a running node needs nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crdt.errors import SettingsInvalid
from node.paths import StatePaths, fallback_runtime
from node.state import Environment, StateConfig, find, home_of, passwd_home

PORT_DEFAULT = 7707
SCAN_INTERVAL_S_DEFAULT = 300
LOG_MB_DEFAULT = 8
LOG_LEVELS = ("debug", "info", "warning", "error")
Value = bool | int | str | dict[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureConfig:
    """How transcripts are taken in.  `roots` replaces a provider's own directories."""

    watch: bool = True
    scan_interval_s: int = SCAN_INTERVAL_S_DEFAULT
    roots: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """How much the node writes to its log, and how large the log may be."""

    level: str = "info"
    size_bytes_max: int = LOG_MB_DEFAULT << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """All settings of one node.  `homes` are the directories that redaction writes as `[HOME]`."""

    state: StateConfig
    homes: tuple[str, ...]
    runtime: Path
    port: int = PORT_DEFAULT
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    log: LogConfig = field(default_factory=LogConfig)

    @property
    def paths(self) -> StatePaths:
        """The paths of the state directory."""
        return StatePaths(self.state.path, self.runtime)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of `config.toml`.  `parse` raises `ValueError` with what it expects."""

    key: str
    variable: str | None
    default: Value
    parse: Callable[[object], Value]
    meaning: str


def _integer(low: int, high: int) -> Callable[[object], Value]:
    def parse(given: object) -> Value:
        number = int(given) if isinstance(given, str) and given.isdecimal() else given
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return number

    return parse


def _switch(given: object) -> Value:
    words = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
    found = words.get(given.lower()) if isinstance(given, str) else given
    if not isinstance(found, bool):
        raise ValueError("true or false")  # noqa: TRY004 - one kind of error for every wrong value
    return found


def _level(given: object) -> Value:
    if not isinstance(given, str) or given.lower() not in LOG_LEVELS:
        raise ValueError(f"one of {', '.join(LOG_LEVELS)}")
    return given.lower()


def _roots(given: object) -> Value:
    expected = ValueError("a table of provider = [absolute directories]")
    if not isinstance(given, dict):
        raise expected
    roots: dict[str, list[str]] = {}
    for name, folders in given.items():
        if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
            raise expected
        roots[str(name)] = [str(Path(one).expanduser()) for one in folders]
        if not all(Path(one).is_absolute() for one in roots[str(name)]):
            raise expected
    return roots


SETTINGS: dict[str, Setting] = {
    setting.key: setting
    for setting in (
        Setting(
            key="node.port",
            variable="ATRIUM_PORT",
            default=PORT_DEFAULT,
            parse=_integer(0, 65_535),
            meaning="port of the local listener on 127.0.0.1; 0 takes any free one",
        ),
        Setting(
            key="capture.watch",
            variable="ATRIUM_WATCH",
            default=True,
            parse=_switch,
            meaning="whether the running node watches the transcript directories",
        ),
        Setting(
            key="capture.scan_interval_s",
            variable="ATRIUM_SCAN_INTERVAL_S",
            default=SCAN_INTERVAL_S_DEFAULT,
            parse=_integer(1, 86_400),
            meaning="seconds between two full scans, the safety net under watching",
        ),
        Setting(
            key="capture.roots",
            variable=None,
            default={},
            parse=_roots,
            meaning="directories to read instead of a provider's own: provider = [directories]",
        ),
        Setting(
            key="log.level",
            variable="ATRIUM_LOG_LEVEL",
            default="info",
            parse=_level,
            meaning="debug, info, warning or error",
        ),
        Setting(
            key="log.size_mb_max",
            variable="ATRIUM_LOG_SIZE_MB_MAX",
            default=LOG_MB_DEFAULT,
            parse=_integer(1, 1024),
            meaning="size of the node's log before it starts anew; one older file is kept",
        ),
    )
}


def load(
    overrides: Mapping[str, object] | None = None,
    *,
    environ: Environment | None = None,
    directory: Path | None = None,
) -> NodeConfig:
    """Read every setting.  `overrides` are flags by key; `directory` is where the asker stands.

    Raises `SettingsInvalid` that names file, key and the nearest known key.
    """
    env = os.environ if environ is None else environ
    state = find_state(env, directory)
    runtime = runtime_directory(env)
    given = _read_toml(StatePaths(state.path, runtime).config)
    flags = overrides or {}
    values = {key: _choose(setting, flags, env, given) for key, setting in SETTINGS.items()}
    return _build(state, runtime, homes(env), values)


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


def _choose(
    setting: Setting, flags: Mapping[str, object], env: Environment, given: Mapping[str, object]
) -> Value:
    if flags.get(setting.key) is not None:
        return _checked(setting, flags[setting.key], f"the flag for {setting.key}")
    if setting.variable and setting.variable in env:
        return _checked(setting, env[setting.variable], setting.variable)
    if setting.key in given:
        return _checked(setting, given[setting.key], f"{setting.key} in config.toml")
    return setting.default


def _checked(setting: Setting, value: object, where: str) -> Value:
    try:
        return setting.parse(value)
    except ValueError as error:
        raise SettingsInvalid(f"{where} must be {error}") from error


def _build(
    state: StateConfig, runtime: Path, home_directories: tuple[str, ...], values: Mapping[str, Value]
) -> NodeConfig:
    def number(key: str) -> int:
        value = values[key]
        assert isinstance(value, int)  # noqa: S101 - the setting's own parser made it
        return value

    roots = values["capture.roots"]
    capture = CaptureConfig(
        watch=values["capture.watch"] is True,
        scan_interval_s=number("capture.scan_interval_s"),
        roots=roots if isinstance(roots, dict) else {},
    )
    log = LogConfig(level=str(values["log.level"]), size_bytes_max=number("log.size_mb_max") << 20)
    return NodeConfig(
        state=state,
        homes=home_directories,
        runtime=runtime,
        port=number("node.port"),
        capture=capture,
        log=log,
    )


def _read_toml(path: Path) -> dict[str, object]:
    """Flatten `config.toml` to `section.key`; an absent file has no keys."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingsInvalid(f"{path} can't be read: {error.strerror}") from error
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except ValueError as error:
        raise SettingsInvalid(f"{path}: {error}") from error
    flat: dict[str, object] = {}
    for section, content in document.items():
        for key, value in content.items() if isinstance(content, dict) else ((None, content),):
            flat[_known(section if key is None else f"{section}.{key}", path)] = value
    return flat


def _known(key: str, path: Path) -> str:
    if key in SETTINGS:
        return key
    import difflib

    near = difflib.get_close_matches(key, SETTINGS, n=1, cutoff=0.0)
    raise SettingsInvalid(f"{path}: unknown setting `{key}`", hint=f"did you mean `{near[0]}`?")
