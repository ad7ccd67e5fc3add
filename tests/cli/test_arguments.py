"""What people type, made fit to be sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import arguments
from crdt.errors import BadInput


def test_words_are_joined_and_bytes_become_characters() -> None:
    assert arguments.text(("connection", "pool")) == "connection pool"
    assert arguments.text(("caf\udcc3\udca9",)) == "café"
    assert arguments.text(("\udcff",)) == "\ufffd"
    assert arguments.text((" as it is ",)) == " as it is "


def test_paths_are_absolute_and_keep_their_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/h")
    (tmp_path / "link").symlink_to("/")
    assert arguments.absolute("link") == str(tmp_path / "link")
    assert arguments.absolute("a/../b") == str(tmp_path / "b")
    assert arguments.absolute("~/x") == "/h/x"


@pytest.mark.parametrize("path", ["\udcff", "a\0b", ""])
def test_a_path_that_can_not_be_sent_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        arguments.absolute(path)


def test_a_removed_directory_is_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert arguments.here() == str(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert arguments.here() == "/"
