"""Shared memory as a file: what its lines say, and how they become operations again.

The file has the form of an archive file (`crdt.archive_file`).  A line names a space, and the lines after it
are operations on records there, those of one record together and oldest first.  An operation keeps the clock,
the author and the hash that it had where it was said first, however many files it has travelled in; only
signatures and nonces stay behind, since they belong to the feed that it was in.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from crdt.archive_file import Form
from crdt.canonical import encode_canonical
from crdt.content import clock_said
from crdt.errors import BadInput
from crdt.operations import Operation, Stamped, Value

FORM = Form("atrium-memory-export", 1)
LINE_BYTES_MAX = 4 << 20
"""An operation has at most 256 KiB of text and as much of fields; JSON escapes can make six bytes of one."""
SPEAKER_CHARS_MAX = 200
_HASH_CHARS = 64


class SpaceLine(msgspec.Struct, frozen=True, kw_only=True, tag="space", tag_field="line",
                forbid_unknown_fields=True):  # fmt: skip
    """The space of the operations that follow; `kind` is home, private or space."""

    id: str
    kind: str
    label: str


class OperationLine(msgspec.Struct, frozen=True, kw_only=True, tag="operation", tag_field="line",
                    omit_defaults=True, forbid_unknown_fields=True):  # fmt: skip
    """One operation; hashes are hexadecimal, `at` is a reading of the hybrid clock, `by` is agent@node.

    `source` is its own name, by which `base` and `untag` of others mean it.
    """

    id: str
    type: str
    agent: str
    at: int
    by: str
    source: str
    set: dict[str, Value] = {}
    tag: list[str] = []
    untag: list[tuple[str, str]] = []
    text: str | None = None
    update: bytes | None = None
    base: list[str] = []
    deleted: bool | None = None

    @property
    def refers_to(self) -> frozenset[str]:
        """The operations that this one names."""
        return frozenset((*self.base, *(dot for _, dot in self.untag)))


Line = SpaceLine | OperationLine
_DECODER = msgspec.json.Decoder(Line)


def encode_line(line: Line) -> bytes:
    """Write a line, without its end."""
    return encode_canonical(line)


def decode_line(data: bytes) -> Line:
    """Read a line; raises `BadInput` that says what is wrong with it."""
    try:
        line = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"it can't be read ({error})") from error
    if isinstance(line, OperationLine):
        for name in (line.source, *line.refers_to):
            if len(bytes_of(name)) * 2 != _HASH_CHARS:
                raise BadInput(f"{name[:80]!a} is no hash")
        if line.at < 0 or len(line.by) > SPEAKER_CHARS_MAX:
            raise BadInput("`at` or `by` is out of bounds")
    return line


def line_of(stamped: Stamped, by: str, sources: Mapping[bytes, bytes]) -> OperationLine:
    """Write an operation; `sources` maps the hashes of its record's operations to their first ones."""
    operation = stamped.operation

    def named(sha256: bytes) -> str:
        return sources.get(sha256, sha256).hex()

    return OperationLine(
        id=operation.id,
        type=operation.type,
        agent=operation.agent,
        at=clock_said(stamped),
        by=operation.by or by,
        source=named(stamped.hash),
        set=operation.set,
        tag=operation.tag,
        untag=[(tag, named(dot)) for tag, dot in operation.untag],
        text=operation.text,
        update=operation.update,
        base=[named(base) for base in operation.base],
        deleted=operation.deleted,
    )


def operation_of(line: OperationLine, known: Mapping[str, bytes]) -> Operation:
    """Make the operation that a line asks for; `known` maps first hashes to those that they have here."""

    def here(name: str) -> bytes:
        return known.get(name) or bytes_of(name)

    return Operation(
        id=line.id,
        type=line.type,
        agent=line.agent,
        set=line.set,
        tag=line.tag,
        untag=[(tag, here(dot)) for tag, dot in line.untag],
        text=line.text,
        update=line.update,
        base=[here(base) for base in line.base],
        deleted=line.deleted,
        at=line.at,
        by=line.by,
        source=bytes_of(line.source),
    )


def bytes_of(name: str) -> bytes:
    """Read a hash; raises `BadInput` for what is none."""
    try:
        return bytes.fromhex(name)
    except ValueError:
        raise BadInput(f"{name[:80]!a} is no hash") from None
