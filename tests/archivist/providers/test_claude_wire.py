"""Records of Claude Code, decoded."""

from __future__ import annotations

import json

from archivist.providers.claude_wire import DECODER, Part, mended_line
from tests.archivist.providers.samples import SESSION, answered, claude, text, tool_result


def test_a_record_is_decoded_without_what_repeats_it() -> None:
    record = claude("user", "u1", {"content": [tool_result([text("x")])]}, toolUseResult={"stdout": "x"})
    line = DECODER.decode(json.dumps(record))
    assert (line.type, line.uuid, line.session_id, line.is_sidechain) == ("user", "u1", SESSION, False)
    assert line.message is not None
    assert line.message.content == [Part(type="tool_result", content=[Part(type="text", text="x")])]
    assert "stdout" not in repr(line)


def test_fields_of_other_types_are_left_out_one_by_one() -> None:
    record = answered("a1", text("good"), {"type": "text", "text": 5, "name": "n"}, cwd=["x"])
    line, lost = mended_line({**record, "uuid": 7, "timestamp": {}})  # type: ignore[dict-item]
    assert (line.type, line.uuid, line.cwd, line.timestamp, lost) == ("assistant", None, None, None, 0)
    assert line.message is not None
    assert line.message.content == [Part(type="text", text="good"), Part(type="text", name="n")]


def test_parts_that_are_no_objects_are_counted() -> None:
    line, lost = mended_line(
        {"type": "user", "message": {"content": ["x", 1, {"type": "text", "text": "y"}]}}
    )
    assert line.message is not None
    assert (line.message.content, lost) == ([Part(type="text", text="y")], 2)


def test_a_message_that_is_no_object_is_none() -> None:
    line, lost = mended_line({"type": "user", "message": "error"})
    assert (line.message, lost) == (None, 0)
