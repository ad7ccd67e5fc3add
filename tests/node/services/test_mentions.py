"""Which texts name a file."""

from __future__ import annotations

import pytest

from node.services.mentions import mentions_of

YARD = "[HOME]/work/yard"
FILE = f"{YARD}/src/a.py"


@pytest.mark.parametrize(
    "text",
    [
        "src/a.py",
        "./src/a.py",
        "see src/a.py.",
        "see `src/a.py`, twice",
        "(src/a.py:12)",
        "fixed in src/a.py#L3",
        "src\\a.py",
        "a=src/a.py;b",
        "[HOME]/work/yard/src/a.py",
        "~/work/yard/src/a.py is it",
        "file://[HOME]/work/yard/src/a.py",
        "data/src/a.py and src/a.py",
    ],
)
def test_a_path_of_its_own_names_the_file(text):
    assert mentions_of(FILE, YARD)(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.py",
        "data.py",
        "lib/src/a.py",
        "src/a.pyc",
        "src/a.py.orig",
        "src/a.py/b",
        "src/a.py~",
        "xsrc/a.py",
        "src/a.py-old",
        "../src/a.py",
        "src/axpy",
        "SRC/A.PY",
        "[HOME]/work/other/src/a.py",
        "/src/a.py",
    ],
)
def test_a_piece_of_another_path_does_not(text):
    assert not mentions_of(FILE, YARD)(text)


def test_a_bare_name_is_the_file_at_the_top():
    names = mentions_of(f"{YARD}/a.py", YARD)
    assert names("a.py waits")
    assert not names("data.py waits")
    assert not names("src/a.py waits")


def test_outside_the_home_a_path_begins_at_the_root():
    names = mentions_of("/srv/yard/a.py", "/srv/yard")
    assert names("/srv/yard/a.py")
    assert not names("~/yard/a.py")
    assert not names("/mnt/srv/yard/a.py")


def test_a_text_of_another_workspace_has_to_say_the_whole_path():
    names = mentions_of(FILE, "[HOME]/work")
    assert names("yard/src/a.py")
    elsewhere = mentions_of(FILE, "[HOME]/work/yard/nested")
    assert elsewhere(FILE)
    assert not elsewhere("src/a.py")


def test_names_with_spaces_and_accents_are_names():
    names = mentions_of(f"{YARD}/café notes.md", YARD)
    assert names("read café notes.md first")
    assert not names("read mycafé notes.md first")
