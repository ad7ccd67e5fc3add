"""Every agent's way to write an instant, brought to one: UTC, milliseconds, `YYYY-MM-DDTHH:MM:SS.mmmZ`.

That form sorts as text as the instants do, and most transcripts use it already.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH_MS_MIN: Final = 100_000_000_000
"""Numbers below are seconds (until the year 5138), from here on milliseconds (since March 1973)."""
_NORMAL: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def normalised_timestamp(value: object) -> str | None:
    """Normalise ISO 8601 text or an epoch number; None where it can't be read.

    Text without an offset is UTC.  Text of the normal form is returned as it is.
    """
    if isinstance(value, str):
        return value if _NORMAL.fullmatch(value) else _from_text(value.strip())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(text: str) -> str | None:
    try:
        return _from_number(float(text)) if text.isdecimal() else _written(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _from_number(number: float) -> str | None:
    try:
        if not math.isfinite(number):
            return None
        milliseconds = number if abs(number) >= EPOCH_MS_MIN else number * 1000
        return _written(_EPOCH + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return None


def _written(moment: datetime) -> str:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.strftime("%Y-%m-%dT%H:%M:%S.").rjust(20, "0") + f"{aware.microsecond // 1000:03d}Z"
