"""Documents that several people edit at once: one pycrdt text, made anew from all its edits.

Edits are applied in causal order to a document that is thrown away.  An edit that is malformed, that builds
on something that is not there, or that breaks a limit is passed over, and so by every node alike.  pycrdt
is imported only when there is something to read, since most commands never need it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from crdt.causal_order import CausalOrder
from crdt.errors import BadInput, EntryRefused
from crdt.line_diff import Hunk, TooDifferent, hunks
from crdt.operations import TEXT_BYTES_MAX, Operation, Stamped
from crdt.record_rights import Rights, admit
from crdt.text_updates import CLIENT_BITS, ROOT, Edit, read_edit

if TYPE_CHECKING:
    from pycrdt import Doc, Text

COST_MAX = 5_000
"""Blocks and deleted ranges of one document: 1.2 s where all stand at one place, which is quadratic."""
COST_WRITTEN_MAX = 4_000
"""Writers stop here, so that what others write at the same moment still fits."""
BYTES_MAX = 2 << 20
"""All edits of one document together."""
SERVED_BYTES_MAX = 2 * TEXT_BYTES_MAX
"""Writers keep a text within half of it; edits made at the same moment may add up to more."""
FAILURES_MAX = 8
"""Edits that pycrdt itself refuses; behind the last of them nothing more is applied."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A text and the numbers of the edits that are not in it; `cost` is that of those that are."""

    text: str
    skipped: list[int]
    cost: int


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Whose edit it is, of what, and the heads of the record that it was made on."""

    author: bytes
    record: str
    saw: Sequence[bytes]


def client_id(origin: Origin, new_text: str) -> int:
    """Derive the client of one edit, 53 bits, from all that it is.

    No two different edits share a client, whatever a node forgot; the same edit twice is the same bytes.
    """
    parts = (origin.author, origin.record.encode(), *sorted(origin.saw))
    digest = hashlib.sha256(b"atrium-v1\0text\0")
    for part in (*parts, new_text.encode("utf-8", "replace")):
        digest.update(len(part).to_bytes(4, "big") + part)
    return int.from_bytes(digest.digest()[:8], "big") >> (64 - CLIENT_BITS)


def as_edit(operation: Operation, before: Iterable[Stamped], rights: Rights, author: bytes) -> Operation:
    """Carry the text of an operation as an edit of the document that the operations before it make up.

    Its `base` is that of the operation.  Raises `BadInput` when the document is full.
    """
    if operation.text is None:
        return operation
    admitted = admit(CausalOrder(before).order, rights)
    counted = () if admitted is None else admitted.operations
    updates = [one.operation.update for one in counted if one.operation.update is not None]
    origin = Origin(author=author, record=operation.id, saw=operation.base)
    update = text_update(updates, operation.text, client_id(origin, operation.text))
    return msgspec.structs.replace(operation, text=None, update=update)


def read_document(updates: Sequence[bytes]) -> Document:
    """Apply edits in order, and say which could not be."""
    reading = _Reading(updates)
    return Document(text=str(reading.text), skipped=sorted(reading.skipped), cost=reading.cost)


def text_update(updates: Sequence[bytes], new_text: str, client: int) -> bytes | None:
    """Make the edit that turns a document into a new text; None if it is that already.

    Raises `BadInput` when the document is full or the text is too long.
    """
    reading = _Reading(updates, client)
    old = str(reading.text)
    if old == new_text:
        return None
    made: list[bytes] = []
    watched = reading.document.observe(lambda event: made.append(event.update))
    with reading.document.transaction():
        for start, stop, replacement in reversed(_replacements(old, new_text)):
            _replace(reading.text, start, stop, replacement)
    reading.document.unobserve(watched)
    _check_room(reading, made[0], new_text)
    return made[0]


def _replace(text: Text, start: int, stop: int, replacement: str) -> None:
    if stop > start:
        del text[start:stop]
    if replacement:
        text.insert(start, replacement)


def _check_room(reading: _Reading, update: bytes, new_text: str) -> None:
    size = max(len(update), len(new_text.encode()))
    if size > TEXT_BYTES_MAX:
        raise BadInput(
            f"a document holds less than {TEXT_BYTES_MAX >> 10} KiB, this has {size >> 10}",
            hint="split it into several documents",
        )
    if reading.cost + read_edit(update).cost > COST_WRITTEN_MAX or reading.size + len(update) > BYTES_MAX:
        raise BadInput("the history of this document is full", hint="go on in a new document")


def _replacements(old: str, new: str) -> list[tuple[int, int, str]]:
    """Give what to replace in the old text, in order: start and stop in bytes of UTF-8, and by what."""
    lines = old.splitlines(keepends=True)
    try:
        changes = hunks(lines, new.splitlines(keepends=True))
    except TooDifferent:
        changes = [Hunk(0, len(lines), (new,), 0, len(lines))]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    replacements = []
    for change in changes:
        gone, come = "".join(lines[change.start : change.stop]), "".join(change.lines)
        head, tail = _shared(gone, come)
        start = starts[change.start] + len(gone[:head].encode())
        stop = starts[change.stop] - len(gone[len(gone) - tail :].encode())
        replacements.append((start, stop, come[head : len(come) - tail]))
    return replacements


def _shared(one: str, other: str) -> tuple[int, int]:
    """Count the characters that two texts share at their start and, of the rest, at their end."""
    head = _common(one, other)
    return head, _common(one[head:][::-1], other[head:][::-1])


def _common(one: str, other: str) -> int:
    """Count the characters that two texts share at their start, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Reading:
    """A document to which edits were applied.  `size` is theirs in bytes."""

    def __init__(self, updates: Sequence[bytes], client: int = 0) -> None:
        self._client = client
        self.skipped: set[int] = set()
        for _ in range(FAILURES_MAX):
            failed = self._apply(updates)
            if failed is None:
                return
            self.skipped.add(failed)
        self._apply(updates[:failed])
        self.skipped.update(range(failed or 0, len(updates)))

    def _apply(self, updates: Sequence[bytes]) -> int | None:
        """Start anew without what was skipped; gives the number of an edit that pycrdt refused."""
        self.document, self.text = _blank(self._client)
        self.cost = self.size = 0
        self._next: dict[int, int] = {}
        for number, update in enumerate(updates):
            edit = None if number in self.skipped else self._placed(update)
            if edit is None:
                self.skipped.add(number)
            elif _is_applied(self.document, update):
                self._next[edit.client] = edit.stop
                self.cost += edit.cost
                self.size += len(update)
            else:
                return number
        return None

    def _placed(self, update: bytes) -> Edit | None:
        """Read an edit; None if it has no place here."""
        try:
            edit = read_edit(update)
        except EntryRefused:
            return None
        has_room = (
            self.cost + edit.cost <= COST_MAX
            and self.size + len(update) <= BYTES_MAX
            and len(self.text) + edit.text_bytes <= SERVED_BYTES_MAX
        )
        is_next = edit.start == self._next.get(edit.client, 0)
        is_grounded = all(
            clock < (edit.stop if client == edit.client else self._next.get(client, 0))
            for client, clock in edit.needs
        )
        return edit if has_room and is_next and is_grounded else None


def _blank(client: int) -> tuple[Doc[Text], Text]:
    from pycrdt import Doc, Text

    document: Doc[Text] = Doc(client_id=client)
    return document, document.get(ROOT.decode(), type=Text)


def _is_applied(document: Doc[Text], update: bytes) -> bool:
    """Apply an edit; tell whether pycrdt took it.  Its own faults come as a panic, which is no Exception."""
    try:
        document.apply_update(update)
    except (ValueError, RuntimeError):
        return False
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return False
    return True
