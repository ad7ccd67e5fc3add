"""The house rules as functions over source text; `test_tidy` and `test_architecture` apply them.

Each gives findings, `path:line what`, and none for a file that keeps the rule.  `test_rules` shows for each
that it finds what it is there to find.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from tests.kit import CHECKOUT

PACKAGES = ("crdt", "mesh", "retrieval", "archivist", "node", "deploy", "cli")
Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
BANNER = re.compile(r"[-=#*~_+]{4,}")
ISSUE = re.compile(r"#\d+\b|\b(?:issue|pull request|PR) #?\d+", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the repository; `path` is relative to its root, with slashes."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """Parse it."""
        return ast.parse(self.text, self.path)

    def comments(self) -> Iterator[tuple[int, str]]:
        """Give each comment's line number and its text behind the first `#`."""
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string[1:].strip()

    def matches(self, patterns: tuple[str, ...]) -> bool:
        """Tell whether a glob fits the whole path; `*` stays within one directory."""
        path = PurePosixPath("/" + self.path)
        return any(path.match("/" + pattern) for pattern in patterns)


@cache
def tracked() -> tuple[str, ...]:
    """List the repository's files, those not committed yet included, ignored ones not."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
        timeout=30,
    )
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return tuple(name for name in names if (CHECKOUT / name).is_file())


@cache
def python_sources() -> tuple[Source, ...]:
    """Read every Python file of the repository."""
    return tuple(
        Source(name, (CHECKOUT / name).read_text("utf-8")) for name in tracked() if name.endswith(".py")
    )


def package_sources() -> tuple[Source, ...]:
    """Read the Python files of the seven packages."""
    return tuple(source for source in python_sources() if source.path.partition("/")[0] in PACKAGES)


def every(rule: Callable[[Source], Iterator[str]], sources: tuple[Source, ...]) -> list[str]:
    """Apply one rule to many files."""
    return [finding for source in sources for finding in rule(source)]


def none(findings: list[str]) -> None:
    """Fail with all findings, one a line."""
    assert not findings, "\n" + "\n".join(findings)


def functions(source: Source) -> Iterator[Function]:
    """Walk all functions, methods and inner functions included."""
    for item in ast.walk(source.tree):
        if isinstance(item, Function):
            yield item


def imports(source: Source) -> Iterator[tuple[str, int]]:
    """Give the dotted name of every import at any depth, and its line; `from a import b` is `a.b`."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.Import):
            yield from ((alias.name, item.lineno) for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            yield from ((f"{item.module or ''}.{alias.name}", item.lineno) for alias in item.names)


def long_module(source: Source, *, lines_max: int) -> Iterator[str]:
    """Find a file with too many lines."""
    lines = len(source.text.splitlines())
    if lines > lines_max:
        yield f"{source.path}:1 has {lines} lines, at most {lines_max}"


def long_function(source: Source, *, lines_max: int) -> Iterator[str]:
    """Find functions with too many lines, docstring included and decorators not."""
    for item in functions(source):
        lines = (item.end_lineno or item.lineno) - item.lineno + 1
        if lines > lines_max:
            yield f"{source.path}:{item.lineno} {item.name} has {lines} lines, at most {lines_max}"


def many_parameters(source: Source, *, parameters_max: int) -> Iterator[str]:
    """Find functions with too many parameters; the receiver does not count."""
    for item in functions(source):
        given = item.args
        named = [
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            *filter(None, (given.vararg, given.kwarg)),
        ]
        count = sum(parameter.arg not in ("self", "cls") for parameter in named)
        if count > parameters_max:
            yield f"{source.path}:{item.lineno} {item.name} has {count} parameters, at most {parameters_max}"


def deep_nesting(source: Source, *, depth_max: int) -> Iterator[str]:
    """Find functions whose blocks are nested too deep; `elif` is no deeper than its `if`."""
    for item in functions(source):
        depth = max((_depth(statement) for statement in item.body), default=0)
        if depth > depth_max:
            yield f"{source.path}:{item.lineno} {item.name} nests {depth} blocks, at most {depth_max}"


def _depth(item: ast.AST) -> int:
    if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return 0
    own = isinstance(item, BLOCKS)
    depths = [0]
    for child in ast.iter_child_nodes(item):
        chained = isinstance(item, ast.If) and child in item.orelse and _is_elif(item, child)
        depths.append(_depth(child) - chained)
    return own + max(depths)


def _is_elif(parent: ast.If, child: ast.AST) -> bool:
    return isinstance(child, ast.If) and child.col_offset == parent.col_offset


def unfinished(source: Source) -> Iterator[str]:
    """Find notes to oneself, in comments and docstrings alike."""
    for number, line in enumerate(source.text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield f"{source.path}:{number} is unfinished: {line.strip()[:60]}"


def noisy_comment(source: Source) -> Iterator[str]:
    """Find comments that are banners or name an issue, which readers of the code can't look up."""
    for number, comment in source.comments():
        if BANNER.search(comment):
            yield f"{source.path}:{number} has a banner"
        if ISSUE.search(comment):
            yield f"{source.path}:{number} names an issue: {comment[:60]}"


def hidden_error(source: Source) -> Iterator[str]:
    """Find handlers that do nothing, and `suppress` of every error there is."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.ExceptHandler) and all(_is_nothing(statement) for statement in item.body):
            yield f"{source.path}:{item.lineno} handles an error by doing nothing"
        if isinstance(item, ast.Call) and _name(item.func).endswith("suppress"):
            broad = {_name(argument) for argument in item.args} & {"Exception", "BaseException"}
            if broad:
                yield f"{source.path}:{item.lineno} suppresses every error"


def _is_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def untyped(source: Source) -> Iterator[str]:
    """Find uses of `typing.Any`."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.ImportFrom) and any(alias.name == "Any" for alias in item.names):
            yield f"{source.path}:{item.lineno} imports Any"
        if isinstance(item, ast.Attribute) and item.attr == "Any":
            yield f"{source.path}:{item.lineno} uses Any"


def printing(source: Source) -> Iterator[str]:
    """Find output to the terminal."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.Call) and _name(item.func) == "print":
            yield f"{source.path}:{item.lineno} prints"
        if isinstance(item, ast.Attribute) and _name(item) in ("sys.stdout", "sys.stderr"):
            yield f"{source.path}:{item.lineno} uses {_name(item)}"


def environment_reads(source: Source) -> Iterator[str]:
    """Find uses of the process's environment."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.Attribute) and _name(item) in ("os.environ", "os.getenv", "os.environb"):
            yield f"{source.path}:{item.lineno} reads {_name(item)}"
        if isinstance(item, ast.ImportFrom) and item.module == "os":
            taken = {alias.name for alias in item.names} & {"environ", "getenv", "environb"}
            yield from (f"{source.path}:{item.lineno} reads os.{name}" for name in sorted(taken))


def sleeping(source: Source) -> Iterator[str]:
    """Find waits for a fixed time; `asyncio.sleep(0)` only lets others run."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.Call) and _name(item.func).rpartition(".")[2] == "sleep":
            first = item.args[0] if item.args else None
            if not (isinstance(first, ast.Constant) and first.value == 0):
                yield f"{source.path}:{item.lineno} sleeps"


def calls_of(names: frozenset[str], source: Source) -> Iterator[str]:
    """Find constructions, `Name(…)` and `Name.open(…)` alike, of the named classes."""
    for item in ast.walk(source.tree):
        if isinstance(item, ast.Call):
            used = set(_name(item.func).split(".")) & names
            yield from (f"{source.path}:{item.lineno} constructs {name}" for name in sorted(used))


def undocumented(source: Source) -> Iterator[str]:
    """Find modules, classes and public functions without a docstring; what a private class has is private."""
    if ast.get_docstring(source.tree) is None:
        yield f"{source.path}:1 has no docstring"
    yield from _undocumented_in(source, source.tree)


def _undocumented_in(source: Source, parent: ast.Module | ast.ClassDef) -> Iterator[str]:
    for item in parent.body:
        if not isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        is_private = item.name.startswith("_") and not isinstance(item, ast.ClassDef)
        if not is_private and ast.get_docstring(item) is None:
            yield f"{source.path}:{item.lineno} {item.name} has no docstring"
        if isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            yield from _undocumented_in(source, item)


def _name(item: ast.expr) -> str:
    """Spell a dotted name; empty for anything else."""
    if isinstance(item, ast.Name):
        return item.id
    if isinstance(item, ast.Attribute):
        return f"{_name(item.value)}.{item.attr}"
    return ""
