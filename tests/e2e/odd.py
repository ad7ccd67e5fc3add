"""Files that nobody meant to write: transcripts with odd lines, archive files that are wrong in one place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.e2e.commands import Said
from tests.kit import World

Record = dict[str, object]
INSTANTS = (
    "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "99999-01-01T00:00:00Z", "yesterday", "",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-13-45T99:99:99Z",
)  # fmt: skip
READABLE_INSTANTS = 1
"""How many of them are instants that the usual form can say."""


def prompt(uuid: str, text: str, **more: object) -> Record:
    """Make what Claude Code writes when somebody says something."""
    return {
        "type": "user", "uuid": uuid, "sessionId": "s", "timestamp": "2026-01-05T09:00:00.000Z",
        "cwd": "/srv/harbour", "message": {"role": "user", "content": text}, **more,
    }  # fmt: skip


def line(record: Record) -> bytes:
    """Write a record as its agent does."""
    return json.dumps(record).encode() + b"\n"


def raw(fields: str) -> bytes:
    """Write a prompt whose fields are given as they stand in the file."""
    return b'{"type":"user",' + fields.encode() + b"}\n"


def deep(opening: bytes, closing: bytes) -> bytes:
    """Nest a hundred thousand times."""
    return opening * 100_000 + closing * 100_000


SURROGATES = [
    raw(r'"uuid":"a\ud800","sessionId":"\udc00","cwd":"/\ud800","message":{"content":"lone \ud800 sluice"}'),
    line(
        {
            "type": "assistant",
            "message": {
                "content": [
                    {"type": "text", "text": "\ud83d\ude00 and \udfff sluice"},
                    {"type": "tool_use", "name": "\ud800", "input": {"\ud800": "\udc00"}},
                ]
            },
        }
    ),
]
NUMBERS = ("1e999", "-1e308", "NaN", "9" * 4000)
TYPES = [
    b'{"type":5,"uuid":[],"message":7}\nnull\n7\n"x"\n[]\n{}\n',
    raw('"uuid":7,"sessionId":9,"message":{"content":3}'),
    raw(
        '"uuid":"w","message":{"content":[1,{"type":"text","text":9},{"type":"text","text":"typed sluice"}]}'
    ),
]
ODD_LINES: dict[str, tuple[bytes, set[str]]] = {
    "surrogates": (b"".join(SURROGATES), {"lone \ufffd sluice", "\U0001f600 and \ufffd sluice"}),
    "no utf-8": (b'\xff\xfe{"a"}\n{"type":"user","message":{"content":"\xff"}}\n', set()),
    "nul": (b"\0\0" + line(prompt("n", "nul\0 sluice\x1b[31m")) + b"\0\0\n", {"nul\0 sluice\x1b[31m"}),
    "deep lists": (
        deep(b"[", b"]") + b"\n" + line(prompt("d1", "under lists sluice")),
        {"under lists sluice"},
    ),
    "deep objects": (deep(b'{"a":', b"}") + b"\n", set()),
    "numbers": (
        b"".join(
            raw(f'"uuid":"m{n}","timestamp":{number},"message":{{"content":"number {n} sluice"}}')
            for n, number in enumerate(NUMBERS)
        ),
        {f"number {n} sluice" for n in range(4)},
    ),
    "twice": (
        raw('"uuid":"t","message":{"content":"first"},"message":{"content":"second sluice"}'),
        {"second sluice"},
    ),
    "types": (b"".join(TYPES), {"typed sluice"}),
    "times": (
        b"".join(line(prompt(f"z{n}", f"time {n} sluice", timestamp=at)) for n, at in enumerate(INSTANTS)),
        {f"time {n} sluice" for n in range(len(INSTANTS))},
    ),
    "empty": (b"", set()),
    "mark": (b"\xef\xbb\xbf" + line(prompt("b", "marked sluice")), {"marked sluice"}),
    "crlf": (line(prompt("c", "sluice of DOS")).replace(b"\n", b"\r\n"), {"sluice of DOS"}),
    "blank": (b"\n\n \t\r\n\n", set()),
    "half": (line(prompt("h1", "whole sluice")) + line(prompt("h2", "half sluice"))[:-9], {"whole sluice"}),
}
"""Files by name: their bytes, and the messages that are to be found in them."""


def transcripts(world: World) -> Path:
    """Give the directory of one project's transcripts."""
    folder = world.home / ".claude" / "projects" / "-srv-harbour"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def conversation(source_id: str, **changes: object) -> bytes:
    """Make a line of an archive file: one conversation."""
    made: Record = {
        "id": hashlib.sha256(f"claude-code\0{source_id}".encode()).hexdigest(),
        "schemaVersion": 2, "source": "claude-code", "sourceId": source_id, "title": "harbour",
        "events": [event("e1", "the sluice")], **changes,
    }  # fmt: skip
    return json.dumps(made).encode()


def event(identity: str, text: str, **more: object) -> Record:
    """Make an event of a conversation."""
    return {"id": identity, "kind": "message", "role": "user", "text": text, **more}


def with_field(name: str, value: bytes) -> bytes:
    """Make a conversation with one more field, as it stands in the file."""
    return conversation("x")[:-1] + f',"{name}":'.encode() + value + b"}"


REFUSED_LINES: dict[str, bytes] = {
    "no json": b"sluice",
    "no utf-8": conversation("x").replace(b"sluice", b"\xff"),
    "null": b"null",
    "blank": b"",
    "deep": deep(b"[", b"]"),
    "deep field": with_field("other", deep(b"[", b"]")),
    "infinite": with_field("automation", b"1e999"),
    "huge": with_field("schemaVersion", b"9" * 5_000),
    "types": conversation("x", events=7),
    "an event of types": conversation("x", events=[{"id": [], "kind": 1, "role": None, "text": {}}]),
    "an unknown kind": conversation("x", events=[{"kind": "\x1b[31m", "role": "user", "text": "x"}]),
    "another's id": conversation("x", id="0" * 64),
}
"""Lines of an archive file that make the whole of it refused."""
REFUSED_MANIFESTS: dict[str, Record] = {
    "records": {"records": 5},
    "hash": {"contentSha256": "0" * 64},
    "version": {"schemaVersion": 99},
    "kind": {"kind": "something\x1b[31m else"},
    "types": {"records": "many"},
}
"""What is wrong in a manifest."""


def archive(path: Path, lines: Iterable[bytes], **changes: object) -> Path:
    """Write an archive file whose manifest is right, apart from the changes."""
    body = b"".join(data + b"\n" for data in lines)
    manifest: Record = {
        "kind": "rocket-agents-conversation-export", "schemaVersion": 2, "records": body.count(b"\n"),
        "contentSha256": hashlib.sha256(body).hexdigest(), **changes,
    }  # fmt: skip
    path.write_bytes(json.dumps(manifest).encode() + b"\n" + body)
    return path


def hits(said: Said) -> list[Mapping[str, object]]:
    """Give the hits of a search."""
    found = said.document()["hits"]
    assert isinstance(found, list)
    return found


def texts(said: Said) -> set[str]:
    """Give the texts of a search's hits."""
    return {str(hit["text"]) for hit in hits(said)}


def skipped(said: Said) -> Mapping[str, int]:
    """Give what was left out, by reason."""
    found = said.document()["skipped"]
    assert isinstance(found, dict)
    return found
