"""The doctor's document: its shape, its verdict, how long it takes, and what the options add."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from node.services.doctor import CODES, handle
from node.services.requests import DoctorRequest
from retrieval.index_schema import discard_database
from tests.kit import CHECKOUT
from tests.node.filled import archive, fragment_of, ignore, opened, tree

SECONDS_MAX = 2.0
LOOK = """
import json, pathlib, sys
from tests.node.services.test_doctor import asked
print(json.dumps(asked(pathlib.Path(sys.argv[1]))))
"""
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
touch "$1/x" 2>/dev/null && exit 78
exec "$2" -c "$3" "$1"
"""


def asked(root: Path, request: DoctorRequest | None = None) -> dict[str, object]:
    """Ask the doctor as a one-shot command does."""
    with opened(root) as local:
        return handle(local, request or DoctorRequest(), ignore)


def checks(document: Mapping[str, object]) -> list[dict[str, object]]:
    """Give the document's checks."""
    return cast("list[dict[str, object]]", document["checks"])


def codes(document: Mapping[str, object], severity: str | None = None) -> set[object]:
    """Give the codes of the checks, or of those of one severity."""
    return {check["code"] for check in checks(document) if severity in (None, check["severity"])}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Name a state directory that does not exist."""
    return tmp_path / "state"


@pytest.fixture
def filled(root: Path) -> Path:
    """Make a state directory with one conversation that was captured just now."""
    archive(root, fragment_of("a", ["sentinel"]))
    (root / "last-refresh").write_text(str(int(time.time())))
    (root / "last-refresh").chmod(0o600)
    return root


def test_a_machine_with_nothing_is_green_and_stays_without_a_directory(root: Path) -> None:
    document = asked(root)
    assert (document["schemaVersion"], document["ok"]) == (1, True)
    assert {"archive_missing", "refresh_never_recorded"} <= codes(document)
    assert codes(document) == codes(document, "ok")
    assert not root.exists()


def test_a_node_in_order_is_green(filled: Path) -> None:
    document = asked(filled)
    assert document["ok"] is True
    assert codes(document) == codes(document, "ok")


def test_a_check_has_its_keys_and_a_fixed_word(filled: Path) -> None:
    for check in checks(asked(filled)):
        assert (
            {"name", "ok", "severity", "code"} <= check.keys() <= {"name", "ok", "severity", "code", "hint"}
        )
        assert check["ok"] is (check["severity"] == "ok")
        assert check["code"] in CODES


def test_every_name_is_there_once(filled: Path) -> None:
    names = [check["name"] for check in checks(asked(filled, DoctorRequest(deep=True)))]
    assert sorted(map(str, names)) == sorted(set(map(str, names)))


def test_neither_text_nor_path_is_shown(filled: Path) -> None:
    (filled / "derived" / "index.db").write_bytes(b"no database at all" * 512)
    (filled / "workspace-aliases.json").write_text('{"/secret/place": 5}')
    shown = json.dumps(asked(filled, DoctorRequest(deep=True, fix=True, report=True)))
    for word in ("sentinel", str(filled), str(filled.parent), "secret", str(CHECKOUT)):
        assert word not in shown


def test_a_broken_check_is_not_ok_and_a_warning_is(filled: Path) -> None:
    (filled / "last-refresh").write_text(str(int(time.time()) - 7_200))
    assert asked(filled)["ok"] is True
    (filled / "last-refresh").write_text(str(int(time.time()) - 30_000))
    document = asked(filled)
    assert document["ok"] is False
    assert codes(document, "broken") == {"refresh_dead"}


def test_a_look_writes_nothing(filled: Path) -> None:
    before = tree(filled)
    asked(filled, DoctorRequest(deep=True, report=True))
    assert tree(filled) == before


def test_a_deleted_index_is_found_and_its_remedy_is_harmless(filled: Path) -> None:
    discard_database(filled / "derived" / "index.db")
    (broken,) = [check for check in checks(asked(filled)) if check["severity"] == "broken"]
    assert (broken["code"], broken["hint"]) == ("index_missing", "run `atrium rebuild`")


def test_all_of_it_takes_less_than_two_seconds_on_a_busy_machine(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    for number in range(200):
        (folder / str(number)).mkdir(parents=True)
        for name in range(10):
            (folder / str(number) / f"{name}.jsonl").touch()
    asked(filled)
    began_s = time.process_time()
    asked(filled, DoctorRequest(roots={"claude-code": [str(folder)]}))
    assert time.process_time() - began_s < SECONDS_MAX / 2


def test_only_a_deep_look_reads_what_is_stored(filled: Path) -> None:
    (segment,) = (filled / "canonical" / "segments").rglob("*.zst")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0x40
    segment.write_bytes(data)
    assert asked(filled)["ok"] is True
    document = asked(filled, DoctorRequest(deep=True))
    assert document["ok"] is False
    assert codes(document, "broken") == {"segment_damaged"}


def test_what_was_mended_is_told_only_when_mending_was_asked_for(filled: Path) -> None:
    filled.chmod(0o755)
    document = asked(filled)
    assert "fixed" not in document
    assert "state_modes_open" in codes(document)
    document = asked(filled, DoctorRequest(fix=True))
    assert document["fixed"] == ["closed 1 files and directories to other users"]
    assert "state_modes_ok" in codes(document)
    assert asked(filled, DoctorRequest(fix=True))["fixed"] == []


def test_the_bundle_is_there_only_when_it_was_asked_for(filled: Path) -> None:
    assert "report" not in asked(filled)
    assert "versions" in cast("dict[str, object]", asked(filled, DoctorRequest(report=True))["report"])


def test_a_read_only_directory_is_examined(filled: Path) -> None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(filled), sys.executable, LOOK],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this user can't mount: {done.stderr}")
    assert done.returncode == 0, done.stderr
    changed = codes(json.loads(done.stdout)) ^ codes(asked(filled))
    assert changed == {"state_modes_ok", "state_read_only"}
