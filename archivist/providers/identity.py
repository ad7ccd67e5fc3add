"""Raw ids for records that their agent gave none.

Such an id follows from the record's type, its timestamp and its ordinal among equals in its file, never
from its text: a corrected or newly redacted text keeps its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from crdt.ids import joined_sha256

RECENT_KEYS_MAX: Final = 64
"""Distinct (type, timestamp) pairs whose counts are remembered.  Equal ones stand beside each other in a
transcript, since agents append as time goes on; a cursor has to stay small."""
LATE_ORDINAL: Final = 1_000_000
"""First ordinal of records that are older than what is still remembered, above any true ordinal."""


def unnamed_raw_id(record_type: str, timestamp: str | None, ordinal: int) -> str:
    """Name a record without an id of its own; `ordinal` counts from 0 among equals in its file."""
    return joined_sha256(record_type, timestamp or "", str(ordinal))


class Ordinals:
    """Count equal (type, timestamp) pairs of one file, over its increments, in bounded memory.

    Types without a timestamp are few and counted for good.  Of the others the last `RECENT_KEYS_MAX` pairs
    are remembered; a pair not newer than a forgotten one may be a repetition, so it takes its ordinal from a
    count of its own: unique all the same, and the same however the file was cut.
    """

    def __init__(self, state: Mapping[str, object]) -> None:
        """Go on from what `state` returned."""
        self._undated = _counts(state.get("undated"))
        self._recent = _counts(state.get("recent"))
        forgotten, late = state.get("forgotten"), state.get("late")
        self._forgotten = forgotten if isinstance(forgotten, str) else ""
        self._late = late if isinstance(late, int) else 0

    def raw_id(self, record_type: str, timestamp: str | None) -> str:
        """Name the next record of this type and time."""
        if timestamp is None:
            ordinal = self._undated.get(record_type, 0)
            self._undated[record_type] = ordinal + 1
            return unnamed_raw_id(record_type, None, ordinal)
        key = f"{timestamp} {record_type}"
        known = self._recent.pop(key, None)
        if known is None and timestamp <= self._forgotten:
            self._late += 1
            return unnamed_raw_id(record_type, timestamp, LATE_ORDINAL + self._late)
        self._recent[key] = (known or 0) + 1
        if len(self._recent) > RECENT_KEYS_MAX:
            oldest = next(iter(self._recent))
            del self._recent[oldest]
            self._forgotten = max(self._forgotten, oldest.partition(" ")[0])
        return unnamed_raw_id(record_type, timestamp, known or 0)

    def state(self) -> dict[str, object]:
        """Return what a later run needs, without what is empty."""
        made: dict[str, object] = {}
        if self._undated:
            made["undated"] = dict(self._undated)
        if self._recent:
            made["recent"] = dict(self._recent)
        if self._forgotten:
            made["forgotten"] = self._forgotten
        if self._late:
            made["late"] = self._late
        return made


def _counts(value: object) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {key: count for key, count in value.items() if isinstance(count, int)}
