"""opencode's storage of before its database: a JSON file for each session, message and part.

    storage/session/<project>/ses_….json
    storage/message/<session>/msg_….json
    storage/part/<message>/prt_….json

Ids rise with time, so the order of names is the order of what was said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from archivist.providers.base import JsonValue, Source, SourceUnreadable
from archivist.providers.opencode_parts import JsonObject, Turn, about
from archivist.providers.parts import decoded_object
from archivist.providers.walk import files_below, readable_name

FILE_BYTES_MAX: Final = 64 << 20
"""The limit of one record, as everywhere in capture."""


def sessions(root: Path, provider: str) -> Iterator[Source]:
    """List the sessions; the fingerprint is the number of a session's files and the newest change of one."""
    unreadable: list[str] = []
    for source in _listed(root, "session", provider, unreadable):
        files, newest_ns = 1, source.modified_ns
        for message in _listed(root, f"message/{source.path.stem}", provider, unreadable):
            parts = [part.modified_ns for part in _listed(root, _parts_of(message), provider, unreadable)]
            files += 1 + len(parts)
            newest_ns = max(newest_ns, message.modified_ns, *parts)
        yield replace(source, size_bytes=files, modified_ns=newest_ns)
    if unreadable:
        raise SourceUnreadable(unreadable)


def turns(source: Source) -> Iterator[Turn]:
    """Give a session's messages with their parts; nothing for a session that is gone."""
    if not source.path.exists():
        return
    name, root = source.path.stem, source.path.parents[3]
    source_id = readable_name(name)
    unreadable: list[str] = []
    faults: list[str] = []
    session, _ = _object(source.path, "session", faults)
    described = about(
        source_id,
        directory=session.get("directory"),
        parent=session.get("parentID"),
        title=session.get("title"),
    )
    yield Turn(about=described, message_id="", data={}, faults=faults)
    loaded: list[Turn] = []
    for message in _listed(root, f"message/{name}", source.provider, unreadable):
        turn = Turn(about=described, message_id=message.path.stem, data={})
        turn.data, turn.size_bytes = _object(message.path, "message", turn.faults)
        loaded.append(turn)
    for turn in sorted(loaded, key=_when):
        for part in _listed(root, f"part/{turn.message_id}", source.provider, unreadable):
            made, size_bytes = _object(part.path, "part", turn.faults)
            turn.size_bytes += size_bytes
            if made:
                turn.parts.append((part.path.stem, made))
        yield turn
    if unreadable:
        raise SourceUnreadable(unreadable)


def _parts_of(message: Source) -> str:
    return f"part/{message.path.stem}"


def _when(turn: Turn) -> tuple[float, str]:
    times = turn.data.get("time")
    created: JsonValue = times.get("created") if isinstance(times, dict) else None
    return (created if isinstance(created, int | float) else 0.0, turn.message_id)


def _listed(root: Path, below: str, provider: str, unreadable: list[str]) -> Iterator[Source]:
    """List the JSON files of one place in the storage, relative to the root; links are not followed."""
    place = root / "storage"
    for name in ("", *below.split("/")):
        place /= name
        if place.is_symlink():
            return
    try:
        for source in files_below(place, provider, _json_name):
            yield replace(source, relative_path=f"storage/{below}/{source.relative_path}")
    except SourceUnreadable as error:
        unreadable += [f"storage/{below}/{name}" for name in error.names]


def _json_name(name: str) -> bool:
    return name.endswith(".json")


def _object(path: Path, what: str, faults: list[str]) -> tuple[JsonObject, int]:
    """Read an object of JSON and its size; an empty one, and a fault, where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(FILE_BYTES_MAX + 1)
    except OSError:
        faults.append(f"{what} that can't be opened")
        return {}, 0
    if len(data) > FILE_BYTES_MAX:
        faults.append("record over 64 MiB")
        return {}, len(data)
    made = decoded_object(data)
    if made is None:
        faults.append(f"{what} that is not an object of JSON")
    return made or {}, len(data)
