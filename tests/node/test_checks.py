"""What a check may say, and that one check's failure is its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crdt.errors import Damaged
from node.checks import CODES, Check, Look, Severity, Surroundings, disk_of, run_checks
from node.services.doctor import CHECKS
from tests.kit import CHECKOUT
from tests.node.filled import archive, fragment_of, opened

CODES_BLOCK = re.compile(r"^CODES = \(.*?^\)", re.MULTILINE | re.DOTALL)
WORDS = re.compile(r'"((?:[a-z0-9]+_)+[a-z0-9]+)"')


def codes_said(root: Path, *, now_s: float | None = None) -> dict[str, Severity]:
    """Run every check of a state directory."""
    around = Surroundings() if now_s is None else Surroundings(now_s=now_s)
    with opened(root) as local:
        return {check.code: check.severity for check in run_checks(CHECKS, Look(local, {}, around))}


def test_a_code_is_one_machine_word_and_there_once() -> None:
    assert list(CODES) == sorted(set(CODES))
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)+", code) for code in CODES)


def test_every_code_is_said_somewhere() -> None:
    texts = [path.read_text("utf-8") for path in (CHECKOUT / "node").glob("checks*.py")]
    said = set(WORDS.findall("\n".join(CODES_BLOCK.sub("", text) for text in texts)))
    said |= {f"index_{fault}" for fault in ("incompatible", "damaged")}
    said |= {f"configuration_{source}" for source in ("missing", "invalid")}
    assert set(CODES) - said == set()


def test_a_word_that_is_not_documented_is_a_programmer_s_error() -> None:
    with pytest.raises(AssertionError, match="all_is_well"):
        Check(name="disk", code="all_is_well")


def test_a_check_has_a_hint_or_no_key_for_it() -> None:
    check = Check(name="disk", code="disk_low", severity=Severity.WARN, hint="free some space")
    assert check.document() == {
        "name": "disk", "ok": False, "severity": "warn", "code": "disk_low", "hint": "free some space",
    }  # fmt: skip
    assert Check(name="disk", code="disk_ok").document() == {
        "name": "disk", "ok": True, "severity": "ok", "code": "disk_ok",
    }  # fmt: skip


@pytest.mark.parametrize(
    "error", [Damaged("local/local.db is damaged", hint="see /secret/place"), OSError(5, "I/O")]
)
def test_a_check_that_fails_says_so_and_the_others_go_on(tmp_path: Path, error: Exception) -> None:
    def check_itself(_look: Look) -> Check:
        raise error

    def check_other(_look: Look) -> Check:
        return Check(name="other", code="disk_ok")

    with opened(tmp_path) as local:
        failed, other = run_checks((check_itself, check_other), Look(local, {}, Surroundings()))
    assert (failed.name, failed.code, failed.severity) == ("itself", "check_failed", Severity.BROKEN)
    assert "/secret" not in str(failed.hint)
    assert other.ok


def test_a_damaged_database_is_told_with_what_mends_it(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "local.db").write_bytes(b"no database at all" * 512)
    with opened(tmp_path) as local:
        found = run_checks(CHECKS, Look(local, {}, Surroundings()))
    hints = {check.hint for check in found if check.code == "check_failed"}
    assert hints == {"run `atrium doctor --fix`, which sets it aside; then index your notes again"}


def test_a_check_with_nothing_to_look_at_is_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as local:
        assert run_checks((lambda _look: None,), Look(local, {}, Surroundings())) == []


def test_what_several_checks_need_is_read_once(tmp_path: Path) -> None:
    archive(tmp_path, fragment_of("a", ["one"]))
    with opened(tmp_path) as local:
        look = Look(local, {}, Surroundings())
        assert look.archive is look.archive
        assert look.index is look.index
        assert look.archive.head == local.archive.log.head() > 0
        assert look.index.health is not None


def test_a_machine_with_nothing_is_healthy(tmp_path: Path) -> None:
    said = codes_said(tmp_path / "state")
    assert set(said.values()) == {Severity.OK}
    assert {"archive_missing", "refresh_never_recorded", "index_missing", "node_down"} <= set(said)
    assert list(tmp_path.iterdir()) == []


def test_the_system_tells_what_is_left_of_a_disk(tmp_path: Path) -> None:
    assert disk_of(tmp_path).free_bytes > 0
    assert disk_of(tmp_path).free_files > 0
