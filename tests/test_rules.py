"""Every house rule finds what it is there to find, and nothing in what keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests import rules
from tests.rules import Source

Rule = Callable[[Source], Iterator[str]]

BROKEN: list[tuple[Rule, str, str]] = [
    (partial(rules.long_module, lines_max=2), "a = 1\n\nb = 2\n", "has 3 lines"),
    (partial(rules.long_function, lines_max=2), "def f():\n    a = 1\n    return a\n", "f has 3 lines"),
    (
        partial(rules.many_parameters, parameters_max=2),
        "def f(a, /, b, *c, d, **e): ...",
        "f has 5 parameters",
    ),
    (partial(rules.deep_nesting, depth_max=1), "def f():\n for a in b:\n  if a:\n   c\n", "f nests 2"),
    (
        partial(rules.deep_nesting, depth_max=1),
        "def f():\n try:\n  a\n except E:\n  if b:\n   c\n",
        "f nests 2",
    ),
    (partial(rules.deep_nesting, depth_max=1), "def f():\n if a:\n  b\n else:\n  if c:\n   d\n", "f nests 2"),
    (rules.unfinished, "a = 1  # TO" + "DO: more", "is unfinished"),
    (rules.noisy_comment, "# -------- part --------", "has a banner"),
    (rules.noisy_comment, "# see #12", "names an issue"),
    (rules.noisy_comment, "# since issue 3", "names an issue"),
    (rules.hidden_error, "try:\n a\nexcept ValueError:\n pass", "doing nothing"),
    (rules.hidden_error, "try:\n a\nexcept ValueError:\n ...", "doing nothing"),
    (rules.hidden_error, "with contextlib.suppress(Exception):\n a", "suppresses every error"),
    (rules.untyped, "from typing import Any", "imports Any"),
    (rules.untyped, "a: typing.Any", "uses Any"),
    (rules.printing, "print(1)", "prints"),
    (rules.printing, "sys.stdout.write('x')", "uses sys.stdout"),
    (rules.environment_reads, "import os\nos.environ['A']", "reads os.environ"),
    (rules.environment_reads, "from os import getenv", "reads os.getenv"),
    (rules.sleeping, "time.sleep(1)", "sleeps"),
    (rules.sleeping, "await asyncio.sleep(delay)", "sleeps"),
    (partial(rules.calls_of, frozenset({"Store"})), "a = Store(1)", "constructs Store"),
    (partial(rules.calls_of, frozenset({"Store"})), "a = store.Store.open(1)", "constructs Store"),
    (rules.undocumented, "a = 1", "has no docstring"),
    (rules.undocumented, '"""A."""\nclass A:\n "B."\n def c(self): ...\n', "c has no docstring"),
    (rules.undocumented, '"""A."""\nclass _A: ...\n', "_A has no docstring"),
]

KEPT: list[tuple[Rule, str]] = [
    (partial(rules.long_module, lines_max=2), "a = 1\nb = 2\n"),
    (partial(rules.long_function, lines_max=2), "@a\n@b\ndef f():\n    return a\n"),
    (partial(rules.many_parameters, parameters_max=2), "class A:\n def f(self, a, *, b): ..."),
    (partial(rules.deep_nesting, depth_max=1), "def f():\n if a:\n  b\n elif c:\n  d\n elif e:\n  f\n"),
    (partial(rules.deep_nesting, depth_max=1), "def f():\n if a:\n  def g():\n   if b:\n    c\n"),
    (rules.unfinished, "mastodon = 1"),
    (rules.noisy_comment, "a = 'id#1'  # The first part has no number."),
    (rules.hidden_error, "try:\n a\nexcept ValueError:\n b = None"),
    (rules.hidden_error, "with suppress(FileNotFoundError):\n a"),
    (rules.untyped, "a: object"),
    (rules.printing, "blueprint(1)"),
    (rules.environment_reads, "def f(environ): return environ['A']"),
    (rules.sleeping, "asyncio.sleep(0)"),
    (partial(rules.calls_of, frozenset({"Store"})), "def f(a: Store) -> Store: return a.store()"),
    (rules.undocumented, '"""A."""\ndef _f(): ...\n'),
    (rules.undocumented, '"""A."""\nclass _A:\n "B."\n def c(self): ...\n'),
]


@pytest.mark.parametrize(("rule", "text", "finding"), BROKEN)
def test_a_broken_rule_is_found(rule: Rule, text: str, finding: str) -> None:
    assert any(finding in found for found in rule(Source("x.py", text)))


@pytest.mark.parametrize(("rule", "text"), KEPT)
def test_a_kept_rule_is_not(rule: Rule, text: str) -> None:
    assert list(rule(Source("x.py", text))) == []


def test_patterns_of_paths_stay_within_a_directory() -> None:
    source = Source("node/services/x.py", "")
    assert source.matches(("node/services/*.py",))
    assert not source.matches(("node/*.py", "services/*.py", "x.py"))


def test_imports_are_found_at_any_depth() -> None:
    source = Source("x.py", "import a.b\nif C:\n from d import e\ndef f():\n import g\n")
    assert list(rules.imports(source)) == [("a.b", 1), ("d.e", 3), ("g", 5)]
