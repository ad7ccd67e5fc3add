"""The structure: layers, homes of libraries, one place that constructs, one that reads the environment."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from importlinter import cli as import_linter

from tests import rules
from tests.kit import CHECKOUT, World
from tests.rules import Source, every, none, package_sources

HOMES: dict[str, tuple[str, ...]] = {
    "pycrdt": ("crdt/*.py",),
    "sqlite3": (
        "crdt/sqlite.py",
        "crdt/store*.py",
        "crdt/feed_blobs.py",
        "crdt/feed_branches.py",
        "crdt/feed_commit.py",
        "crdt/feed_tables.py",
        "crdt/feed_writer.py",
        "crdt/pending.py",
        "crdt/migrations.py",
        "crdt/projection*.py",
        "retrieval/index*.py",
        "retrieval/words.py",
        "retrieval/substrings.py",
        "retrieval/superseded.py",
        "retrieval/follow.py",
        "node/local_store.py",
        "archivist/providers/*.py",
    ),
    "sqlite_utils": ("crdt/migrations.py", "retrieval/index*.py", "node/local_store.py"),
    "zstandard": ("crdt/segments.py",),
    "aiohttp": (
        "node/daemon.py",
        "node/server.py",
        "node/guard.py",
        "node/api/*.py",
        "mesh/*.py",
        "archivist/llm.py",
    ),
    "structlog": ("node/*.py",),
    "tomlkit": ("node/config.py", "deploy/*.py"),
    "tomllib": ("node/config.py", "deploy/bootstrap.py"),
    "platformdirs": ("node/paths.py", "node/config.py"),
    "watchfiles": ("archivist/watch.py", "node/*.py"),
    "click": ("cli/*.py", "cli/commands/*.py"),
    "rich": ("cli/*.py", "cli/commands/*.py"),
    "rich_click": ("cli/*.py", "cli/commands/*.py"),
    "zeroconf": ("mesh/discovery.py",),
    "cryptography": ("mesh/identity*.py", "mesh/trust.py", "mesh/link.py", "crdt/entries.py"),
    "onnxruntime": ("retrieval/embed.py", "retrieval/models.py"),
    "numpy": ("retrieval/dense.py", "retrieval/embed.py"),
    "feedgen": ("node/api/*.py",),
}
"""Where each library may be imported, at the top of a module or within a function.  A library that is not
here is either everybody's (msgspec) or not used."""

EVERYBODY_S = {"msgspec"}
ENVIRONMENT_READERS = ("node/config.py", "deploy/bootstrap.py", "cli/hook.py")
PRINTERS = ("cli/*.py", "cli/commands/*.py", "deploy/bootstrap.py")
COMPOSITION = "node/composition.py"
CONNECTIONS = "crdt/sqlite.py"
"""Opens databases for the modules that may use sqlite3; a connection is not yet a store."""
STORES_WITHOUT_CONNECTION = {"Archive", "SegmentDirectory"}
"""Concrete stores that work on files; those on a database are found by the connection that they keep."""

NOT_ON_THE_SEARCH_PATH = {
    "sqlite_utils",
    "structlog",
    "rich_click",
    "rich",
    "numpy",
    "onnxruntime",
    "pycrdt",
    "aiohttp",
}


def test_imports_go_down_the_layers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.syspath_prepend(str(CHECKOUT))
    status = import_linter.lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == 0, capsys.readouterr().out


def foreign_imports(source: Source) -> list[str]:
    """Find imports of libraries away from their home, and of libraries without one."""
    found = []
    for name, line in rules.imports(source):
        top = name.partition(".")[0]
        homes = HOMES.get(top)
        if homes is not None and not source.matches(homes):
            found.append(f"{source.path}:{line} imports {top}, which lives in {', '.join(homes)}")
        known = top in sys.stdlib_module_names or top in rules.PACKAGES or top in EVERYBODY_S
        if homes is None and not known:
            found.append(f"{source.path}:{line} imports {top}, which has no home in HOMES")
    return found


def test_a_library_has_one_home() -> None:
    none([finding for source in package_sources() for finding in foreign_imports(source)])


def test_a_library_away_from_its_home_is_found() -> None:
    assert foreign_imports(Source("node/services/x.py", "import aiohttp.web"))
    assert foreign_imports(Source("node/x.py", "def f():\n from sqlite3 import connect"))
    assert foreign_imports(Source("node/x.py", "import requests"))
    assert not foreign_imports(Source("node/api/x.py", "import aiohttp, msgspec, json, crdt.ids"))


def test_services_know_no_adapter() -> None:
    adapters = ("node.api", "node.daemon", "node.client", "cli", "deploy")
    services = [source for source in package_sources() if source.path.startswith("node/services/")]
    assert services
    none(
        [
            f"{source.path}:{line} imports {name}"
            for source in services
            for name, line in rules.imports(source)
            if name.startswith(adapters)
        ]
    )


def test_one_module_reads_the_environment() -> None:
    others = tuple(source for source in package_sources() if not source.matches(ENVIRONMENT_READERS))
    none(every(rules.environment_reads, others))


def test_only_the_command_prints() -> None:
    none(every(rules.printing, tuple(s for s in package_sources() if not s.matches(PRINTERS))))


def stores() -> dict[str, str]:
    """Name every concrete store and every function that opens one, as `module.name`, with its package."""
    found: dict[str, str] = {}
    for source in package_sources():
        kinds = [item for item in source.tree.body if isinstance(item, ast.ClassDef) and _is_store(item)]
        openers = [
            i for i in source.tree.body if isinstance(i, ast.FunctionDef) and i.name.startswith("open_")
        ]
        if source.path not in (CONNECTIONS, COMPOSITION):
            found |= {
                f"{_module(source)}.{item.name}": source.path
                for item in (*kinds, *(openers if kinds else ()))
            }
    return found


def _is_store(item: ast.ClassDef) -> bool:
    return item.name in STORES_WITHOUT_CONNECTION or "self._connection = " in ast.unparse(item)


def _module(source: Source) -> str:
    return source.path.removesuffix(".py").replace("/", ".")


def constructed_away_from_home(source: Source, known: dict[str, str]) -> list[str]:
    """Find constructions of stores that another package defines; in `node`, that another module defines."""
    own = source.path.rpartition("/")[0]
    imported = {name for name, _ in rules.imports(source)}
    foreign = {
        name.rpartition(".")[2]
        for name, path in known.items()
        if imported & {name, name.rpartition(".")[0]} and (own == "node" or path.rpartition("/")[0] != own)
    }
    return list(rules.calls_of(frozenset(foreign), source))


def test_one_module_constructs_the_stores() -> None:
    known = stores()
    assert {"crdt.store.FeedStore", "crdt.store.open_store", "node.local_store.LocalStore"} <= set(known)
    sources = [source for source in package_sources() if source.path != COMPOSITION]
    none([finding for source in sources for finding in constructed_away_from_home(source, known)])


def test_a_store_constructed_away_from_its_home_is_found() -> None:
    known = {"crdt.store.open_store": "crdt/store.py", "node.local_store.LocalStore": "node/local_store.py"}

    def found(path: str, text: str) -> list[str]:
        return constructed_away_from_home(Source(path, text), known)

    assert found("retrieval/x.py", "from crdt.store import open_store\nopen_store(p)")
    assert found("node/services/x.py", "import crdt.store\ncrdt.store.open_store(p)")
    assert found("node/x.py", "from node.local_store import LocalStore\nLocalStore(c)")
    assert not found("crdt/x.py", "from crdt.store import open_store\nopen_store(p)")
    assert not found("retrieval/x.py", "def open_store(p): ...\nopen_store(p)")


def imported_modules(world: World, *words: str) -> set[str]:
    """Run the command and name all the modules that its process imported."""
    command = world.command(*words)
    done = subprocess.run(
        [command[0], "-X", "importtime", *command[1:]],
        cwd=world.work,
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_a_search_imports_nothing_heavy(world: World) -> None:
    modules = imported_modules(world, "search", "x", "--all", "--json")
    assert "cli.quick" in modules, "the measurement saw the command start"
    none(sorted(name for name in modules if name.partition(".")[0] in NOT_ON_THE_SEARCH_PATH))
