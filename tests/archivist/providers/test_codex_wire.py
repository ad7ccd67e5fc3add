"""Lines of a rollout, decoded."""

from __future__ import annotations

import json

from archivist.providers.codex_wire import DECODER, Part, mended_line
from tests.archivist.providers.samples import codex_message, item


def test_an_envelope_and_a_bare_item_are_told_apart() -> None:
    wrapped = codex_message("user", "hello")
    line = DECODER.decode(json.dumps(wrapped))
    assert line.payload is not None
    assert line.payload.content == [Part(type="input_text", text="hello")]
    bare = DECODER.decode(json.dumps(wrapped["payload"]))
    assert (bare.payload, bare.content) == (None, line.payload.content)


def test_what_nobody_can_read_is_not_decoded() -> None:
    line = DECODER.decode(json.dumps(item("reasoning", summary=[], encrypted_content="gAAAAopaque")))
    assert "opaque" not in repr(line)


def test_fields_of_other_types_are_left_out_one_by_one() -> None:
    content = ["stray", {"type": "input_text", "text": "hello"}]
    line, lost = mended_line({"type": 1, "payload": {"role": "user", "id": 5, "content": content}})  # type: ignore[dict-item]
    assert (line.type, lost) == ("", 1)
    assert line.payload is not None
    assert (line.payload.role, line.payload.id) == ("user", None)
    assert line.payload.content == [Part(type="input_text", text="hello")]


def test_a_bare_item_is_mended_too() -> None:
    line, lost = mended_line({"type": "message", "content": [1, {"type": "input_text"}]})
    assert (line.content, lost) == ([Part(type="input_text")], 1)
