"""`atrium feeds`: which there are, and their exchange by file."""

from __future__ import annotations

from typing import cast

from tests.cli.conftest import Shell
from tests.node.asking import asked


def test_feeds_are_listed(filled: Shell) -> None:
    said = filled.run("feeds").ok().out
    assert said.splitlines()[0].startswith("home  digest ")
    spaces = cast("list[dict[str, object]]", filled.run("feeds", "--json").document()["spaces"])
    assert [space["label"] for space in spaces] == ["home", "private"]


def test_there_and_back_changes_nothing(filled: Shell) -> None:
    path = filled.world.base / "feeds"
    assert filled.run("feeds", "export", path).ok().out.startswith("wrote 1 space, 1 page and ")
    before = filled.run("feeds", "--json").document()
    assert filled.run("feeds", "import", path).ok().out.startswith("took in 0 new entries")
    assert filled.run("feeds", "--json").document() == before
    document = filled.run(
        "feeds", "export", path, "--space", "home", "--without-archive", "--json"
    ).document()
    assert document["blobs"] == 0


def test_a_space_that_is_passed_over_is_told_with_its_reason(filled: Shell) -> None:
    other, path = filled.world.base / "other" / "state", filled.world.base / "feeds"
    key = filled.run("identity", "--json").document()["key"]
    for label in ("team", "crew"):
        asked(other, "spaces.create", label=label)
    asked(other, "spaces.add-member", space="team", key=key, name="filled")
    asked(other, "feeds.export", path=str(path))
    said = filled.run("feeds", "import", path).ok()
    assert said.out.startswith("took in ")
    assert "passed over: this node is no member of crew; there: `atrium spaces members add crew" in said.err
    left = cast(
        "list[dict[str, object]]", filled.run("feeds", "import", path, "--json").document()["passedOver"]
    )
    assert {item["label"] for item in left} == {"crew", "home"}
    assert all(item["why"] and item["hint"] for item in left)


def test_what_can_not_be_exchanged_is_refused(filled: Shell) -> None:
    path = filled.world.base / "feeds"
    filled.run("feeds", "export", path, "--space", "nowhere").refused("nowhere")
    filled.run("feeds", "export", path, "--space", "private").refused("private")
    assert not path.exists()
    path.write_bytes(b"no feeds")
    filled.run("feeds", "import", path).refused("feeds")
