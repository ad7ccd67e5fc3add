"""Invented transcripts for whole-process tests: the same seed writes the same bytes.

A `Talk` is one session with all the files that its agent wrote.  Files are given as bytes, so that a test
may write any part of them first and the rest later, as a running agent does.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

CLAUDE, CODEX = "claude-code", "codex"
BEGINS = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
PROJECTS = ("harbour", "lighthouse", "quay")
WORDS = """
    anchor ballast buoy cable capstan cargo chart compass current deck dock ferry fender gale gangway hatch
    hawser helm hull jetty keel knot ladder lantern mast mooring oar pilot plank pontoon port pump quay reef
    rigging rope rudder sail sextant shoal signal sluice sounding starboard stern storm swell tide tiller
    towline trawler tug valve vessel voyage wake watch winch windlass yard
""".split()  # noqa: SIM905 - as a list it is 57 lines
Record = dict[str, object]


def roots(home: Path) -> dict[str, Path]:
    """Name where each agent keeps its transcripts."""
    return {CLAUDE: home / ".claude" / "projects", CODEX: home / ".codex" / "sessions"}


def queries(count: int = 20) -> list[str]:
    """Give questions whose words are in the transcripts and in the notes."""
    choose = random.Random("questions")  # noqa: S311
    return [" ".join(choose.sample(WORDS, choose.randint(1, 3))) for _ in range(count)]


class Talk:
    """One session of an agent, by number: its project, its records, its file."""

    def __init__(self, number: int, turns: int, *, result_bytes: int = 400) -> None:
        self.number = number
        self.turns = turns
        self.result_bytes = result_bytes
        self.agent = CODEX if number % 4 == 3 else CLAUDE
        self.project = PROJECTS[number % len(PROJECTS)]
        self.session = self.identity("session")

    def identity(self, what: str) -> str:
        """Derive an id with the shape of a random one."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.number}/{what}"))

    def instant(self, position: int) -> str:
        """Give the instant of a record; every fifth has that of the one before."""
        moment = BEGINS + timedelta(minutes=97 * self.number, seconds=13 * (position - (position % 5 == 4)))
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def files(self, home: Path) -> dict[Path, bytes]:
        """Give every file of the session with its bytes."""
        lines = [json.dumps(record).encode() + b"\n" for record in self.records(home)]
        return {self.path(home): b"".join(lines)}

    def path(self, home: Path, name: str | None = None) -> Path:
        """Name a file of the session."""
        if self.agent == CODEX:
            return (
                roots(home)[CODEX]
                / "2026"
                / "01"
                / "05"
                / f"rollout-2026-01-05T09-00-00-{self.session}.jsonl"
            )
        folder = re.sub("[^A-Za-z0-9]", "-", str(home / self.project))
        return roots(home)[CLAUDE] / folder / f"{name or self.session}.jsonl"

    def records(self, home: Path) -> list[Record]:
        """Give the records of the session's own file."""
        return list(self._codex(home) if self.agent == CODEX else self._claude(home))

    def said(self, position: int) -> str:
        """Give the text of a turn."""
        choose = random.Random(f"{self.number}/{position}")  # noqa: S311
        return f"Turn {position} of {self.number}: " + " ".join(
            choose.choices(WORDS, k=choose.randint(4, 40))
        )

    def result(self, position: int) -> str:
        """Give the output of a tool."""
        choose = random.Random(f"{self.number}/{position}/result")  # noqa: S311
        return choose.randbytes(self.result_bytes // 2).hex()

    def _claude(self, home: Path) -> Iterator[Record]:
        yield {"type": "file-history-snapshot", "messageId": self.identity("snapshot"), "snapshot": {}}
        parent: str | None = None
        for position in range(self.turns):
            name = self.identity(str(position))
            yield {
                "type": ("user", "assistant")[position % 2],
                "uuid": name,
                "parentUuid": parent,
                "sessionId": self.session,
                "cwd": str(home / self.project),
                "isSidechain": False,
                "timestamp": self.instant(position),
                "message": {"role": ("user", "assistant")[position % 2], "content": self._content(position)},
            }
            parent = name

    def _content(self, position: int) -> str | list[Record]:
        text: Record = {"type": "text", "text": self.said(position)}
        call = f"toolu_{self.number}_{position - position % 2}"
        if position % 2:
            return [text, {"type": "tool_use", "id": call, "name": "Read", "input": {"position": position}}]
        if not position:
            return self.said(position)
        return [{"type": "tool_result", "tool_use_id": call, "content": self.result(position)}, text]

    def _codex(self, home: Path) -> Iterator[Record]:
        head = {"id": self.session, "timestamp": self.instant(0), "cwd": str(home / self.project)}
        yield {"timestamp": self.instant(0), "type": "session_meta", "payload": head}
        for position in range(self.turns):
            user = position % 2 == 0
            content = [{"type": "input_text" if user else "output_text", "text": self.said(position)}]
            payload = {"type": "message", "role": "user" if user else "assistant", "content": content}
            yield {"timestamp": self.instant(position), "type": "response_item", "payload": payload}
            output = {
                "type": "function_call_output",
                "call_id": f"c{position}",
                "output": self.result(position),
            }
            yield {"timestamp": self.instant(position), "type": "response_item", "payload": output}


class ResumedTalk(Talk):
    """A session of Claude Code that was resumed: a second file repeats the first and goes on."""

    def files(self, home: Path) -> dict[Path, bytes]:
        """Give the first file, cut where the agent ended, and the one that goes on."""
        assert self.agent == CLAUDE
        records = self.records(home)
        half = len(records) // 2
        summary: Record = {"type": "summary", "summary": "About the tide.", "leafUuid": records[half]["uuid"]}
        again = [summary, *records]
        return {
            self.path(home): _lines(records[: half + 1]),
            self.path(home, self.identity("again")): _lines(again),
        }


def files_of(talks: list[Talk], home: Path) -> dict[Path, bytes]:
    """Give all files of some sessions."""
    return {path: data for talk in talks for path, data in talk.files(home).items()}


def write(files: Mapping[Path, bytes]) -> None:
    """Write files whole."""
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_notes(folder: Path, count: int, seed: str = "notes") -> None:
    """Write a tree of Markdown notes with headings and links."""
    choose = random.Random(seed)  # noqa: S311
    for number in range(count):
        path = folder / f"part-{number % 7}" / f"note-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"# Note {number} about {choose.choice(WORDS)}", f"See [[note-{(number + 3) % count}]]."]
        for heading in choose.sample(WORDS, 3):
            parts += [f"## {heading.title()} {seed}", " ".join(choose.choices(WORDS, k=30))]
        path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _lines(records: list[Record]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
