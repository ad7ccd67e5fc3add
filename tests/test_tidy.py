"""The shape of the source: sizes, comments, errors, names of machines, and a test for every module."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import PurePosixPath

from tests import rules
from tests.kit import CHECKOUT
from tests.rules import PACKAGES, every, none, package_sources, python_sources, tracked

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 5
DEPTH_MAX = 3
SMALL_MODULE_LINES = 40
"""A module up to this size may be tested through those that use it."""

TOP_FOLDERS = {*PACKAGES, "tests", ".ci"}
CODECS: tuple[str, ...] = ()
"""Modules that decode foreign bytes and may say `Any`; none needs to so far."""

TESTED_ELSEWHERE: dict[str, str] = {
    "archivist/providers/base.py": "types only; tests/contracts runs over every adapter",
    "archivist/sample_texts.py": "the story and its reader; tests/archivist/test_sample.py reads all of it",
    "crdt/errors.py": "the tree and its statuses; tests/test_docs.py walks it",
    "crdt/events.py": "types only; the tests of capture, segments and export encode and decode them",
    "node/services/catalog.py": "the table of use-cases; every test of a use-case goes through it",
    "node/services/memory_requests.py": "types only; the tests of memory and decisions send them all",
    "node/services/backup_requests.py": "types only; every test of a use-case builds them",
    "node/services/requests.py": "types only; every test of a use-case builds them",
}

REGISTRIES = tuple(
    f"{name}.{end}"
    for name, ends in {
        "pypi": ("org", "io"),
        "pythonhosted": ("org",),
        "npmjs": ("org", "com"),
        "deb.debian": ("org",),
        "crates": ("io",),
        "golang": ("org",),
    }.items()
    for end in ends
)
A_MACHINE = re.compile(r"(?<![\w.\]])(?:/root\b|/work/|/home/[a-z]\w*)")
THIS_WORKPLACE = re.compile("/work/" + r"(?:main|shared|\.library)\b")
"""Tests may have homes in their literals, since homes are what is redacted; nothing may name this place."""


def texts() -> list[tuple[str, str]]:
    """Read every file of the repository that is text."""
    found = []
    for name in tracked():
        raw = (CHECKOUT / name).read_bytes()
        if b"\0" not in raw:
            found.append((name, raw.decode("utf-8", "replace")))
    return found


def test_modules_are_small() -> None:
    none(every(partial(rules.long_module, lines_max=MODULE_LINES_MAX), python_sources()))


def test_functions_are_short() -> None:
    none(every(partial(rules.long_function, lines_max=FUNCTION_LINES_MAX), python_sources()))


def test_functions_take_few_parameters() -> None:
    none(every(partial(rules.many_parameters, parameters_max=PARAMETERS_MAX), python_sources()))


def test_blocks_are_not_nested_deep() -> None:
    none(every(partial(rules.deep_nesting, depth_max=DEPTH_MAX), python_sources()))


def test_nothing_is_left_unfinished() -> None:
    none(every(rules.unfinished, python_sources()))


def test_comments_are_sentences_about_the_code() -> None:
    none(every(rules.noisy_comment, python_sources()))


def test_no_code_is_commented_out() -> None:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "ERA",
        "--quiet",
        ".",
    ]
    found = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout) == (0, ""), found.stdout + found.stderr


def test_no_error_is_hidden() -> None:
    none(every(rules.hidden_error, python_sources()))


def test_types_are_said() -> None:
    typed = tuple(source for source in package_sources() if not source.matches(CODECS))
    none(every(rules.untyped, typed))


def test_tests_wait_for_conditions_and_not_for_time() -> None:
    waiting = tuple(s for s in python_sources() if s.path.startswith("tests/") and s.path != "tests/kit.py")
    none(every(rules.sleeping, waiting))


def test_the_top_level_has_the_agreed_folders() -> None:
    found = {PurePosixPath(name).parts[0] for name in tracked() if "/" in name}
    assert found == TOP_FOLDERS


def test_no_lock_file_is_kept() -> None:
    none([name for name in tracked() if PurePosixPath(name).name in ("uv.lock", "poetry.lock")])


def test_no_file_names_a_machine() -> None:
    named = [
        f"{name} {found[0]}"
        for name, text in texts()
        for found in (THIS_WORKPLACE if name.startswith("tests/") else A_MACHINE).finditer(text)
    ]
    none(named)


def test_no_file_names_a_registry() -> None:
    none([f"{name} {host}" for name, text in texts() for host in REGISTRIES if host in text])


def test_every_module_has_its_test() -> None:
    tests = [PurePosixPath(name) for name in tracked() if name.startswith("tests/")]
    missing = []
    for source in package_sources():
        path = PurePosixPath(source.path)
        stem = path.parent.name if path.stem == "__init__" else path.stem
        found = any(t.match(f"test_{stem}*.py") and t.parts[1] in (path.parts[0], "contracts") for t in tests)
        if not (found or _is_small(source) or source.path in TESTED_ELSEWHERE):
            missing.append(source.path)
    none(missing)


def test_the_list_of_modules_tested_elsewhere_is_true() -> None:
    sizable = {source.path for source in package_sources() if not _is_small(source)}
    none(sorted(set(TESTED_ELSEWHERE) - sizable))


def _is_small(source: rules.Source) -> bool:
    """Tell whether a module is small, or is nothing but its docstring."""
    return len(source.text.splitlines()) <= SMALL_MODULE_LINES or len(source.tree.body) <= 1
