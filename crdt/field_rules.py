"""What a field of a record may hold, and what a type of record is: the vocabulary of the type modules.

A rule judges one value.  `records.check` refuses what does not fit before it is written; the reducer passes
over what does not fit in operations from elsewhere, so that whoever reads a state can trust its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from crdt.operations import Operation, Value

LINE_CHARS_MAX = 1_000
PROSE_CHARS_MAX = 32_000
ITEMS_MAX = 200
_MILLISECONDS_MAX = (1 << 47) - 1


class Rule(Protocol):
    """Judges the values of one field.  None never comes here: it clears a field."""

    @property
    def wanted(self) -> str:
        """Say what fits, to follow "must be"."""
        ...

    def fits(self, value: Value) -> bool:
        """Tell whether a value may stand in the field."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Text with a limit in characters."""

    chars_max: int = LINE_CHARS_MAX

    @property
    def wanted(self) -> str:
        """Say what fits."""
        return f"text of at most {self.chars_max} characters"

    def fits(self, value: Value) -> bool:
        """Tell whether a value is text within the limit."""
        return isinstance(value, str) and len(value) <= self.chars_max


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    values: tuple[str, ...]

    @property
    def wanted(self) -> str:
        """Say what fits."""
        return f"one of {', '.join(self.values)}"

    def fits(self, value: Value) -> bool:
        """Tell whether a value is one of the words."""
        return isinstance(value, str) and value in self.values


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number between two bounds, both allowed; whole numbers are integers."""

    low: float
    high: float
    is_whole: bool = False

    @property
    def wanted(self) -> str:
        """Say what fits."""
        return f"a {'whole ' if self.is_whole else ''}number from {self.low:g} to {self.high:g}"

    def fits(self, value: Value) -> bool:
        """Tell whether a value is such a number; not-a-number is none."""
        kinds = int if self.is_whole else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no."""

    wanted: str = "true or false"

    def fits(self, value: Value) -> bool:
        """Tell whether a value is a truth value."""
        return isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """A list of texts."""

    items_max: int = ITEMS_MAX
    chars_max: int = LINE_CHARS_MAX

    @property
    def wanted(self) -> str:
        """Say what fits."""
        return f"at most {self.items_max} texts of at most {self.chars_max} characters"

    def fits(self, value: Value) -> bool:
        """Tell whether a value is such a list."""
        return (
            isinstance(value, list)
            and len(value) <= self.items_max
            and all(isinstance(item, str) and len(item) <= self.chars_max for item in value)
        )


LINE = Words()
PROSE = Words(chars_max=PROSE_CHARS_MAX)
NAME = Words(chars_max=128)
NAMES = Texts(chars_max=128)
INSTANT = Number(low=0, high=_MILLISECONDS_MAX, is_whole=True)
"""Milliseconds since 1970, UTC."""


class Content(StrEnum):
    """Whether records of a type have a text."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType:
    """The rules of one type of record.

    `derive` gives the id that a creation must have where ids follow from content instead of being minted;
    if the type is `claimable`, whoever may append may say it, and an id that fits is his right to.
    `arbitrated` fields count only from the node that created the record.  Records that are `final` are
    said once; a correction is a record of its own.
    """

    name: str
    fields: Mapping[str, Rule]
    required: frozenset[str] = field(default=frozenset())
    content: Content = Content.REQUIRED
    derive: Callable[[Operation], str] | None = None
    is_claimable: bool = True
    arbitrated: frozenset[str] = field(default=frozenset())
    is_collaborative: bool = False
    is_final: bool = False

    @property
    def derived(self) -> bool:
        """Tell whether ids follow from content."""
        return self.derive is not None

    def is_claim(self, operation: Operation) -> bool:
        """Tell whether an operation says just what its id is derived from, as anybody may."""
        if self.derive is None or not self.is_claimable:
            return False
        alters = operation.base or operation.tag or operation.untag or operation.deleted is not None
        return not alters and operation.update is None and self.derive(operation) == operation.id
