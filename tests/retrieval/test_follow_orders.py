"""An index that followed the archive step by step is the one that is made anew from it.

Archives are drawn by chance: growing files, copies in a second file, corrections, titles and directories
that come late, sealing, tombstones, new generations.  After each of these the index must say the same as
one that reads the finished log from its start.  Row ids may differ, and numbers of events where something
that is no record was said twice; their order may not.
"""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from crdt.archive import Archive, decode_fragment
from crdt.canonical import encode_canonical
from crdt.events import Event, Fragment, Origin
from crdt.ids import conversation_id, event_id
from crdt.manifests import Tombstone
from crdt.segments import Body, SegmentDirectory, build, fragment_sha256
from retrieval.follow import ArchiveFollower
from retrieval.index_schema import open_index_writer
from retrieval.index_writer import IndexWriter
from tests.crdt.memory_log import MemoryLog

SEEDS = range(60)
STEPS = 14
TIMES = [None, "no time", "2026-01-05T10:02:00+01:00", *(f"2026-01-05T09:0{n}:00.000Z" for n in range(5))]

CONVERSATIONS = """
SELECT c.conversation_id, c.source, c.source_id, c.title, c.automation, c.captured, c.parent_id, w.path,
       c.last_key, c.last_id, c.removed_hlc, t1.record_id, t2.record_id
FROM conversations c LEFT JOIN workspaces w ON w.id = c.workspace
LEFT JOIN records t1 ON t1.id = c.tail1 LEFT JOIN records t2 ON t2.id = c.tail2 ORDER BY 1
"""
RECORDS = """
SELECT r.record_id, c.conversation_id, w.path, r.role, r.event_id, r.content_sha256, r.source_sha256,
       r.authored_at, rank() OVER (PARTITION BY r.conversation ORDER BY r.event_index), b1.record_id,
       b2.record_id, t.text
FROM records r JOIN conversations c ON c.id = r.conversation JOIN texts t ON t.id = r.id
LEFT JOIN workspaces w ON w.id = r.workspace
LEFT JOIN records b1 ON b1.id = r.before1 LEFT JOIN records b2 ON b2.id = r.before2 ORDER BY 1
"""
FRAGMENTS = """
SELECT f.sha256, c.conversation_id, f.hlc, f.redactor, f.segment, f.frame_offset, f.skip, f.size
FROM fragments f JOIN conversations c ON c.id = f.conversation ORDER BY 1
"""
WORDS = """
SELECT v.term, r.record_id, v.col, v.offset FROM temp.vocabulary v JOIN records r ON r.id = v.doc
ORDER BY 1, 2, 3, 4
"""


class Machine:
    """Agents that write, a person who tidies up, and the archive of both; by chance from a seed."""

    def __init__(self, archive: Archive, seed: int) -> None:
        self.archive = archive
        self.choose = random.Random(seed)  # noqa: S311
        self.places: dict[tuple[str, str], int] = {}
        self.written: dict[str, list[Event]] = {}
        self.titled = self.choose.random() < 0.3

    def step(self) -> None:
        """Do one thing."""
        act = self.choose.choices(
            (self.capture, self.seal, self.bury, self.supersede), weights=(12, 1, 2, 1)
        )[0]
        act()

    def capture(self) -> None:
        """Take the next part of one or several files."""
        made = [self.fragment() for _ in range(self.choose.choice((1, 1, 1, 2, 3)))]
        bodies = {body.sha256: body for body in map(self.body, made)}
        self.archive.append(list(bodies.values()), seal=self.choose.random() < 0.4)

    def fragment(self) -> Fragment:
        choose = self.choose
        session, path = choose.choice(("s1", "s1", "s2")), choose.choice(("a.jsonl", "a.jsonl", "b.jsonl"))
        identity = conversation_id("claude-code", session)
        place = self.places.get((session, path), 0)
        if place and choose.random() < 0.15:
            place = 0
        places = range(place, place + choose.randint(1, 3))
        events = [self.event(identity, session, seq) for seq in places]
        self.places[session, path] = max(place + len(events), self.places.get((session, path), 0))
        self.written.setdefault(identity, []).extend(events)
        return Fragment(
            conversation_id=identity,
            source="claude-code",
            source_id=session,
            origin=choose.choice((Origin.CAPTURE, Origin.CAPTURE, Origin.INGEST)),
            relative_path=path,
            title="a title" if self.titled and choose.random() < 0.3 else None,
            workspace=choose.choice((None, "[HOME]/one", "[HOME]/one", "[HOME]/two")),
            parent_id=choose.choice((None, None, "p1", "p2")),
            automation=choose.random() < 0.1,
            redactor_version=choose.choice((1, 1, 2)),
            events=events,
        )

    def event(self, identity: str, session: str, seq: int) -> Event:
        """Write the next event, or an earlier one again: as it was, or corrected."""
        choose = self.choose
        earlier = self.written.get(identity, [])
        if earlier and choose.random() < 0.15:
            again = choose.choice(earlier)
            text = again.text if choose.random() < 0.5 else again.text + " corrected"
            return Event(
                id=again.id, kind=again.kind, role=again.role, text=text, seq=seq, timestamp=again.timestamp
            )
        kind, role = choose.choice(
            (("message", "user"), ("message", "assistant"), ("tool-result", "tool"), ("summary", "system"))
        )
        return Event(
            id=event_id(identity, f"{session}/{choose.randrange(1 << 30)}"),
            kind=kind,
            role=role,
            text=" ".join(choose.choices(("tide", "storm", "rope", "keel", "ok"), k=choose.randint(0, 4))),
            seq=seq,
            timestamp=choose.choice(TIMES),
        )

    def body(self, fragment: Fragment) -> Body:
        data = encode_canonical(fragment)
        return Body(sha256=fragment_sha256(data), data=data)

    def seal(self) -> None:
        """Seal what waits."""
        self.archive.seal()

    def bury(self) -> None:
        """Leave a conversation out, or bring it back."""
        identity = conversation_id("claude-code", self.choose.choice(("s1", "s2")))
        removed = self.choose.random() < 0.6
        tombstone = Tombstone(removed=[identity]) if removed else Tombstone(revived=[identity])
        self.archive.commit([], [], tombstone)

    def supersede(self) -> None:
        """Merge all segments into one; a newer redactor may have changed one of its fragments."""
        current = self.archive.current()
        hlcs: dict[str, int] = {}
        bodies: list[Body] = []
        for logged in self.archive.log.since(0):
            name = getattr(logged.manifest, "sha256", None)
            for stored, data in self.archive.load(logged) if name in current else ():
                hlcs.setdefault(stored.sha256, stored.hlc)
                bodies.append(Body(sha256=stored.sha256, data=data))
        if bodies and self.choose.random() < 0.5:
            old = decode_fragment(bodies[0].data)
            texts = [msgspec.structs.replace(event, text="[REDACTED:token]") for event in old.events]
            bodies[0] = self.body(msgspec.structs.replace(old, events=texts, redactor_version=3))
            hlcs[bodies[0].sha256] = hlcs[fragment_sha256(encode_canonical(old))]
        if bodies:
            self.archive.supersede(list(current), [(build(bodies), hlcs)], "merged")


def dump(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Read everything that an index says, without its row ids."""
    connection.execute("DROP TABLE IF EXISTS temp.vocabulary")
    connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'instance')")
    return {
        name: connection.execute(statement).fetchall()
        for name, statement in {
            "conversations": CONVERSATIONS, "fragments": FRAGMENTS, "records": RECORDS, "words": WORDS,
        }.items()
    }  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_step_by_step_is_the_same_as_from_the_start(seed: int, tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    archive = Archive(MemoryLog(), SegmentDirectory(tmp_path / "segments"))
    machine = Machine(archive, seed)
    with closing(open_index_writer(tmp_path / "followed" / "index.db")) as followed:
        follower = ArchiveFollower(IndexWriter(followed), archive)
        for number in range(STEPS):
            machine.step()
            if machine.choose.random() < 0.8 or number == STEPS - 1:
                follower.catch_up()
        with closing(open_index_writer(tmp_path / "fresh" / "index.db")) as fresh:
            ArchiveFollower(IndexWriter(fresh), archive).catch_up()
            expected, found = dump(fresh), dump(followed)
    archive.log.close()
    for name, rows in expected.items():
        assert found[name] == rows, name
    assert expected["conversations"]
