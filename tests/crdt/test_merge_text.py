"""Three-way merge: laws, and the cases in which it must not be sure."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crdt.merge_text import merge3
from crdt.operations import TEXT_BYTES_MAX

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=8)
TEXTS = LINES.map("\n".join)


@given(TEXTS, TEXTS)
def test_a_side_that_changed_nothing_gives_way(base: str, edited: str) -> None:
    assert merge3(base, edited, base) == edited
    assert merge3(base, base, edited) == edited
    assert merge3(base, edited, edited) == edited


@given(TEXTS, TEXTS, TEXTS)
def test_sides_are_equal(base: str, ours: str, theirs: str) -> None:
    assert merge3(base, ours, theirs) == merge3(base, theirs, ours)


@given(st.integers(2, 12), st.data())
def test_edits_of_different_lines_are_both_there(count: int, data: st.DataObject) -> None:
    base = [f"line {number}" for number in range(count)]
    whose = data.draw(st.lists(st.sampled_from(["", "ours", "theirs"]), min_size=count, max_size=count))
    sides = {
        side: [f"{side} {line}" if by == side else line for line, by in zip(base, whose, strict=True)]
        for side in ("ours", "theirs")
    }
    wanted = [f"{by} {line}".strip() for line, by in zip(base, whose, strict=True)]
    assert merge3("\n".join(base), "\n".join(sides["ours"]), "\n".join(sides["theirs"])) == "\n".join(wanted)


@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_has_no_line_that_nobody_wrote_and_keeps_what_both_kept(
    base: str, ours: str, theirs: str
) -> None:
    merged = merge3(base, ours, theirs)
    if merged is not None:
        of = [text.split("\n") for text in (base, ours, theirs, merged)]
        for line in {*of[3]}:
            was, mine, yours, now = (text.count(line) for text in of)
            assert now == mine + yours - was or mine == yours == now or _common_change(was, mine, yours, now)


def _common_change(was: int, mine: int, yours: int, now: int) -> bool:
    """Tell whether a count follows when a part of both changes is one and the same change."""
    changes = sorted((mine - was, yours - was, 0))
    low, high = min(changes[0], mine + yours - 2 * was), max(changes[2], mine + yours - 2 * was)
    return low <= now - was <= high


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        pytest.param("a", "b", "c", id="the same line"),
        pytest.param("a", "a\nb", "a\nc", id="insertions at one place"),
        pytest.param("a\nb", "a\nx\nb", "a\nB", id="an insertion beside a changed line"),
        pytest.param("a\nb\nc", "a\nc", "a\nB\nc", id="a changed line that was taken out"),
        pytest.param("x\nx\nend", "x\nend", "x\nX\nend", id="one of two equal lines taken out"),
        pytest.param("x\nend", "x\nx\nend", "new\nx\nend", id="a doubled line and an insertion beside it"),
        pytest.param("", "a", "b", id="two first texts"),
    ],
)
def test_what_touches_is_a_conflict(base: str, ours: str, theirs: str) -> None:
    assert merge3(base, ours, theirs) is None


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a\nb", "A\nb", "a\nB", "A\nB"),
        ("a\nb\nc", "b\nc", "a\nb\nC", "b\nC"),
        ("a\nb\nc", "a\nb\nc\nd", "z\na\nb\nc", "z\na\nb\nc\nd"),
        ("a\nb\nc\nd", "A\nb\nc\nd", "A\nb\nc\nD", "A\nb\nc\nD"),
        ("a\r\nb\r\nc", "a\r\nB\r\nc", "a\r\nb\r\nC", "a\r\nB\r\nC"),
    ],
)
def test_what_does_not_touch_is_merged(base: str, ours: str, theirs: str, merged: str) -> None:
    assert merge3(base, ours, theirs) == merged


def test_a_merge_that_would_be_too_long_is_a_conflict() -> None:
    half = "x" * (TEXT_BYTES_MAX * 2 // 3)
    assert merge3("a\nb\nc", f"{half}\nb\nc", f"a\nb\n{half}") is None


def random_text(seed: int, alphabet: str, lines: int) -> str:
    chosen = random.Random(seed)  # noqa: S311
    return "\n".join(chosen.choice(alphabet) for _ in range(lines))


def shuffled(seed: int, lines: int) -> str:
    numbers = [str(number) for number in range(lines)]
    random.Random(seed).shuffle(numbers)  # noqa: S311
    return "\n".join(numbers)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["x\n" * 131_000, "x\n" * 130_000, "x\n" * 130_001], id="equal lines"),
        pytest.param(["x\n" * 9_900, "y" + "x\n" * 9_000, "x\n" * 9_500 + "z"], id="fewer equal lines"),
        pytest.param(["a\nb\n" * 4_900, "b\na\n" * 4_900, "a\na\nb\n" * 3_200], id="alternating"),
        pytest.param([random_text(seed, "ab", 9_900) for seed in range(3)], id="two letters"),
        pytest.param([random_text(seed, "ab", 700) for seed in range(3)], id="two letters, fewer"),
        pytest.param([shuffled(seed, 9_900) for seed in range(3)], id="shuffled"),
        pytest.param(["x" * 262_000, "x" * 262_001, "z" + "x" * 262_000], id="one long line"),
    ],
)
def test_hostile_texts_take_little_time(texts: list[str]) -> None:
    """A hundred milliseconds of this process are allowed; seven times as much fails, for busy machines."""
    begun = time.process_time()
    merge3(*texts)
    assert time.process_time() - begun < 0.7
