"""Show how far something is: a bar on a terminal, now and then a line elsewhere, nothing when asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli import output

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

LINE_INTERVAL_S = 5.0
SETTLED_S = 0.5
"""Before it a rate is noise."""
PHASES = {"capture": "reading transcripts", "substrings": "indexing fragments"}
EXTRAS = (("conversations", "conversation"), ("redactions", "secret"))

Report = Callable[[dict[str, object]], None]


@contextmanager
def shown(*, lines: bool = False) -> Iterator[Report]:
    """Give a callback for signs of progress; `lines` also reports where standard error is no terminal."""
    if sys.stderr.isatty():
        with _bar() as report:
            yield report
    elif lines:
        yield _Lines().report
    else:
        yield lambda _document: None


class Pace:
    """How fast a phase goes, from its own first sign."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._phase: str | None = None
        self._began_s = 0.0
        self._first = 0

    def describe(self, document: output.Document) -> str:
        """Say amounts, rate and time left of the phase that the document is about."""
        done, total = output.number_of(document, "done"), output.number_of(document, "total")
        unit = output.text_of(document, "unit")
        self._follow(output.text_of(document, "phase"), done)
        words = [f"{_amount(done, unit)} of {_amount(total, unit)}" if total else _amount(done, unit)]
        for key, noun in EXTRAS:
            if key in document:
                words.append(output.plural(output.number_of(document, key), noun))
        if "redactions" in document:
            words[-1] += " redacted"
        return ", ".join(words + self._speed(done, total, unit))

    def _follow(self, phase: str, done: int) -> None:
        if phase != self._phase:
            self._phase, self._began_s, self._first = phase, self._clock(), done

    def _speed(self, done: int, total: int, unit: str) -> list[str]:
        elapsed_s = self._clock() - self._began_s
        rate = (done - self._first) / elapsed_s if elapsed_s > SETTLED_S else 0
        if rate <= 0:
            return []
        left = [f"{output.span(max(0, total - done) / rate)} left"] if total else []
        return [f"{_amount(rate, unit)}/s", *left]


def phase_of(document: output.Document) -> str:
    """Name the phase that a document is about, for people."""
    phase = output.text_of(document, "phase")
    return PHASES.get(phase, phase)


class _Lines:
    """A line for each phase, one every few seconds, and one at the end of a phase that was seen to move."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._phase = ""
        self._last_s = 0.0
        self._is_whole = False

    def report(self, document: dict[str, object]) -> None:
        described = self._pace.describe(document)
        phase = phase_of(document)
        now_s = time.monotonic()
        total = output.number_of(document, "total")
        is_whole = total > 0 and output.number_of(document, "done") >= total
        ends = is_whole and not self._is_whole
        if phase == self._phase and not ends and now_s - self._last_s < LINE_INTERVAL_S:
            return
        self._phase, self._last_s, self._is_whole = phase, now_s, is_whole
        output.note(f"{phase}: {described}")


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[detail]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _bar_report(progress)


def _bar_report(progress: RichProgress) -> Report:
    task = progress.add_task("starting", total=None, detail="")
    pace = Pace()

    def report(document: dict[str, object]) -> None:
        done, total = output.number_of(document, "done"), output.number_of(document, "total")
        detail = pace.describe(document)
        progress.update(
            task, description=phase_of(document), completed=done, total=total or None, detail=detail
        )

    return report


def _amount(count: float, unit: str) -> str:
    return output.size(count) if unit == "bytes" else f"{count:,.0f} {unit}".rstrip()
