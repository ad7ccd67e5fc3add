"""Name the settings of a node, what each accepts, and which source of a value wins.

Flags win over the environment, the environment over `config.toml`, that over the default.  Nothing here
reads any of them: `config` does, and imports this only when more than the state directory is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crdt.errors import SettingsInvalid
from node.paths import StatePaths
from node.state import Environment, StateConfig

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
        roots[str(name)] = [os.path.expanduser(one) for one in folders]  # noqa: PTH111 - never raises
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was set where: flags by key, the environment, and the keys of `config.toml`."""

    flags: Mapping[str, object]
    environ: Environment
    file: Mapping[str, object]


def build(state: StateConfig, runtime: Path, homes: tuple[str, ...], given: Given) -> NodeConfig:
    """Choose every value and put them together; raises `SettingsInvalid` that names the wrong one."""
    values = {key: _choose(setting, given) for key, setting in SETTINGS.items()}

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
        homes=homes,
        runtime=runtime,
        port=number("node.port"),
        capture=capture,
        log=log,
    )


def refuse_unknown(key: str, where: str) -> None:
    """Raise `SettingsInvalid` for a key that is no setting, naming the nearest one."""
    if key in SETTINGS:
        return
    import difflib

    near = difflib.get_close_matches(key, SETTINGS, n=1, cutoff=0.0)
    raise SettingsInvalid(f"{where}: unknown setting `{key}`", hint=f"did you mean `{near[0]}`?")


def _choose(setting: Setting, given: Given) -> Value:
    if given.flags.get(setting.key) is not None:
        return _checked(setting, given.flags[setting.key], f"the flag for {setting.key}")
    if setting.variable and setting.variable in given.environ:
        return _checked(setting, given.environ[setting.variable], setting.variable)
    if setting.key in given.file:
        return _checked(setting, given.file[setting.key], f"{setting.key} in config.toml")
    return setting.default


def _checked(setting: Setting, value: object, where: str) -> Value:
    try:
        return setting.parse(value)
    except ValueError as error:
        raise SettingsInvalid(f"{where} must be {error}", hint=f"correct {where}") from error
