"""A state directory with a bit of everything that a backup is about, and how it is backed up."""

from __future__ import annotations

from pathlib import Path

from tests.node.asking import asked
from tests.node.filled import archive, fragment_of


def fill(root: Path) -> Path:
    """Put conversations, memory and settings into a state directory."""
    archive(root, fragment_of("sealed", ["the sluice opens at dawn"]))
    archive(root, fragment_of("waiting", ["the weir is cleaned on friday"]), seal=False)
    asked(root, "memory.add", text="the pump is primed from the north")
    (root / "config.toml").write_text("[log]\nlevel = 'debug'\n")
    return root


def backed_up(root: Path, target: Path, **options: object) -> dict[str, object]:
    """Back up, and give the document."""
    return dict(asked(root, "backup", path=str(target), **options))
