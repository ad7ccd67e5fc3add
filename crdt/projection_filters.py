"""What a list of records is narrowed to, as the conditions and the order of one SQL query.

Conditions are constants and values are bound.  A condition of several values carries a plus sign, which
keeps SQLite from walking an index once per value: it then walks the one that gives the order, and stops at
the limit.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from crdt.clock import pack
from crdt.confidence import CONFIDENCE_ASSUMED
from crdt.errors import BadInput

LIMIT_MAX = 500
_SELECT = "SELECT r.row, r.updated_hlc, r.id, r.change_seq FROM {source} WHERE {conditions} ORDER BY {order}"
_ROWS = "records r"
_ROWS_BY_CHANGE = "records r INDEXED BY records_by_change"
_TAGGED_ROWS = "tags g CROSS JOIN records r ON r.row = g.record"
_ONE = "r.{0} = :{0}"
_ANY = "+r.{0} IN (SELECT value FROM json_each(:{0}))"
_ANY_OR_NONE = "(r.{0} IS NULL OR r.{0} IN (SELECT value FROM json_each(:{0})))"
_IN_SPACES = """
+r.space IN (SELECT id FROM spaces WHERE lower(hex(space)) IN (SELECT value FROM json_each(:spaces)))
"""
_LEADING_TAG = "g.tag = :tag0"
_HAS_TAG = """
EXISTS (SELECT 1 FROM tags x WHERE x.tag = :tag{} AND x.updated_hlc = r.updated_hlc AND x.record = r.row)
"""
_CONFIDENT = f"""
coalesce(r.confidence, {CONFIDENCE_ASSUMED}) >= :confidence_min
AND (:as_of_ms IS NULL OR :confidence_min <=
     effective_confidence(coalesce(r.confidence, {CONFIDENCE_ASSUMED}), r.kind, r.updated_hlc, :as_of_ms))
"""
"""The first line is implied by the second, and cheap."""
_NEWEST = "{0}.updated_hlc DESC, r.id DESC, r.row DESC LIMIT :limit"
_BEHIND_NEWEST = """
{0}.updated_hlc <= :after_hlc AND (r.updated_hlc, r.id, r.row) < (:after_hlc, :after_id, :after_row)
"""
_COMMITTED = "r.change_seq LIMIT :limit"
_BEHIND_COMMITTED = "r.change_seq > :after_seq"
_EVER_CHANGED = "r.change_seq > 0"
"""Said so that SQLite knows that the index, which has only those, has all that are asked for."""

Values = dict[str, str | int | float | None]


class Order(StrEnum):
    """Newest change first, equal on all nodes; or in the order in which this node took changes in."""

    NEWEST = "newest"
    COMMITTED = "committed"


class RecordFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What records must be like; an empty tuple or None asks for nothing.

    Of a tuple any value fits, of `tags` all must be there.  None among `projects` stands for records
    without one.  `as_of_ms` is the instant at which confidence is computed and memory expires; without it
    nothing expires, and confidence is the asserted one.  `…_before_ms` exclude the instant, `…_after_ms`
    include it.
    """

    types: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    projects: tuple[str | None, ...] = ()
    scopes: tuple[str, ...] = ()
    spaces: tuple[bytes, ...] = ()
    workspaces: tuple[str, ...] = ()
    confidence_min: float | None = None
    updated_before_ms: int | None = None
    updated_after_ms: int | None = None
    created_before_ms: int | None = None
    conflicts: bool = False
    include_deleted: bool = False
    as_of_ms: int | None = None


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended.  `generation` is that of the projection, whose places mean nothing in another."""

    order: Order
    generation: str
    hlc: int
    id: str
    row: int
    change_seq: int


class Query(msgspec.Struct, frozen=True):
    """A statement that gives row, updated_hlc, id and change_seq, and what is bound to it."""

    statement: str
    values: Values


_CURSOR_DECODER = msgspec.msgpack.Decoder(Cursor)


def encode_cursor(cursor: Cursor) -> str:
    """Spell a cursor."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(cursor)).decode("ascii").rstrip("=")


def decode_cursor(text: str, order: Order, generation: str) -> Cursor:
    """Read a cursor; raises `BadInput` for one of another list or of a projection that was made anew."""
    hint = "ask again without a cursor"
    try:
        cursor = _CURSOR_DECODER.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise BadInput("the cursor can't be read", hint=hint) from None
    if cursor.order is not order or cursor.generation != generation:
        raise BadInput("the cursor belongs to another list, or to one that was made anew", hint=hint)
    return cursor


def query_of(wanted: RecordFilter, order: Order, limit: int, cursor: Cursor | None) -> Query:
    """Build the query of a page; raises `BadInput` for a limit that is not from 1 to 500."""
    if not 1 <= limit <= LIMIT_MAX:
        raise BadInput(f"a list has from 1 to {LIMIT_MAX} records, not {limit}", hint="give another limit")
    values: Values = {"limit": limit, "as_of_ms": wanted.as_of_ms}
    is_newest = order is Order.NEWEST
    is_tag_led = is_newest and bool(wanted.tags)
    conditions = ["r.version > 0", *_columns(wanted, values), *_bounds(wanted, values)]
    for place, tag in enumerate(wanted.tags):
        values[f"tag{place}"] = tag
        conditions.append(_LEADING_TAG if is_tag_led and place == 0 else _HAS_TAG.format(place))
    clock = "g" if is_tag_led else "r"
    if not is_newest:
        conditions.append(_EVER_CHANGED)
    if cursor is not None:
        conditions.append(_BEHIND_NEWEST.format(clock) if is_newest else _BEHIND_COMMITTED)
        values |= {
            "after_hlc": cursor.hlc, "after_id": cursor.id, "after_row": cursor.row,
            "after_seq": cursor.change_seq,
        }  # fmt: skip
    untagged = _ROWS if is_newest else _ROWS_BY_CHANGE
    statement = _SELECT.format(
        source=_TAGGED_ROWS if is_tag_led else untagged,
        conditions=" AND ".join(conditions),
        order=_NEWEST.format(clock) if is_newest else _COMMITTED,
    )
    return Query(statement, values)


def _columns(wanted: RecordFilter, values: Values) -> Iterator[str]:
    given: dict[str, Sequence[str | None]] = {
        "type": wanted.types, "kind": wanted.kinds, "agent": wanted.agents, "project": wanted.projects,
        "scope": wanted.scopes, "workspace": wanted.workspaces,
    }  # fmt: skip
    for column, choices in given.items():
        if not choices:
            continue
        if len(choices) == 1 and choices[0] is not None:
            values[column] = choices[0]
            yield _ONE.format(column)
        else:
            values[column] = json.dumps([choice for choice in choices if choice is not None])
            yield (_ANY_OR_NONE if None in choices else _ANY).format(column)
    if wanted.spaces:
        values["spaces"] = json.dumps([space.hex() for space in wanted.spaces])
        yield _IN_SPACES


def _bounds(wanted: RecordFilter, values: Values) -> Iterator[str]:
    clocks = (
        ("r.updated_hlc < :updated_before", "updated_before", wanted.updated_before_ms),
        ("r.updated_hlc >= :updated_after", "updated_after", wanted.updated_after_ms),
        ("r.created_hlc < :created_before", "created_before", wanted.created_before_ms),
    )
    for condition, name, milliseconds in clocks:
        if milliseconds is not None:
            values[name] = pack(milliseconds)
            yield condition
    if wanted.conflicts:
        yield "r.conflicted = 1"
    if not wanted.include_deleted:
        yield "r.deleted = 0"
    if wanted.as_of_ms is not None:
        yield "(r.expires_ms IS NULL OR r.expires_ms > :as_of_ms)"
    if wanted.confidence_min is not None:
        values["confidence_min"] = wanted.confidence_min
        yield _CONFIDENT
