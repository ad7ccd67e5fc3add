"""Texts from an editor: what was saved, or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cli.commands.memory_text import edited
from crdt.errors import BadInput


def editor(folder: Path, script: str) -> str:
    """Write an editor that is a shell script; `$1` is the file."""
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(stat.S_IRWXU)
    return os.fspath(path)


def test_what_was_saved_comes_back_without_its_last_line_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, 'printf "%s and more\\n" "$(cat "$1")" > "$1"'))
    assert edited("the pier") == "the pier and more"


def test_a_file_that_was_not_saved_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "true"))
    assert edited("the pier") is None


def test_an_editor_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "exit 3"))
    with pytest.raises(BadInput) as refused:
        edited("the pier")
    assert "EDITOR" in refused.value.hint
