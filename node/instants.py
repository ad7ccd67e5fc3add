"""Instants and ages as status and doctor say them, and the stamp of the last refresh."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

from retrieval.freshness import AHEAD_S_MAX

STAMP_BYTES_MAX = 64
_YEAR_9999_S = 253_402_300_799.0


class StampInvalid(ValueError):
    """The stamp is no number of seconds, lies in the future, or can't be read."""


def iso(instant_s: float) -> str:
    """Write seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`."""
    return datetime.fromtimestamp(instant_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_ms(instant_ms: int) -> str:
    """Write milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    seconds, milliseconds = divmod(instant_ms, 1000)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds:03d}Z"


def seconds_of(text: str | None) -> float | None:
    """Read an ISO 8601 instant; None for anything else.  One without a zone is taken as UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def at_and_age(instant_s: float | None, now_s: float) -> dict[str, object]:
    """Give `{at, ageSeconds}`, both None where there is no instant; what lies ahead has age 0."""
    if instant_s is None or not 0 <= instant_s <= _YEAR_9999_S:
        return {"at": None, "ageSeconds": None}
    return {"at": iso(instant_s), "ageSeconds": max(0, int(now_s - instant_s))}


def read_stamp(path: Path, now_s: float) -> float | None:
    """Read the last refresh in seconds since 1970, None where there never was one.

    Raises `StampInvalid`.
    """
    try:
        with path.open("rb") as file:
            text = file.read(STAMP_BYTES_MAX).decode("ascii")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StampInvalid(str(error)) from error
    try:
        stamp_s = float(text)
    except ValueError as error:
        raise StampInvalid(str(error)) from error
    if not math.isfinite(stamp_s) or not 0 <= stamp_s <= now_s + AHEAD_S_MAX:
        raise StampInvalid("not an instant of the past")
    return stamp_s
