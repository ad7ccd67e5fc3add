"""However an archive came to be and however the index followed it, the index is that of the archive."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crdt.archive import decode_fragment
from crdt.events import Event, Fragment, Kind, Origin, Role
from crdt.ids import conversation_id, event_id
from crdt.manifests import Segment, Tombstone
from crdt.segments import Body, Built, build
from tests.retrieval.follow_kit import Kept, body_of, contents

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Hundreds of archives are made, and none is to survive a power cut."""
SOURCE = "claude-code"
NAMES = ("harbour", "mill")
TEXTS = (
    "the crane is red", "where is the crane", "ok", "crane crane mill", "  ", "Straße über naïve café",
    "mill " * 60 + "tail beyond the cut", "line\u2028end\0nul", "水車小屋の話",
)  # fmt: skip
QUERIES = ("crane", "mill", "the", "tail", "march", "naïve", "red")
TIMES = (
    None, "2026-03-01T08:00:00.000Z", "2026-03-01T09:00:00.000Z", "2026-03-01T09:00:00+00:00",
    "2026-03-02T00:00:00.000Z", "yesterday",
)  # fmt: skip


@dataclass
class Story:
    """What was told so far: where each file of each conversation is, and all fragments ever archived.

    A story either repeats fragments or replaces segments: the clock of a fragment that was archived twice is
    only known as long as the segment that had it first is there.
    """

    repeats: bool
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    told: list[Fragment] = field(default_factory=list)


@st.composite
def events(draw: st.DrawFn, name: str, first: int, *, wild: bool) -> list[Event]:
    """Draw events of a conversation: going on at a place with new ids, or of any id at any place."""
    conversation = conversation_id(SOURCE, name)
    made = []
    for place in range(first, first + draw(st.integers(0 if wild else 1, 4))):
        raw = draw(st.sampled_from(("e0", "e1", "e2", "e3", None))) if wild else f"n{place}"
        made.append(
            Event(
                id=event_id(conversation, raw) if raw else None,
                kind=draw(st.sampled_from((Kind.MESSAGE, Kind.MESSAGE, Kind.TOOL_CALL))),
                role=draw(st.sampled_from((Role.USER, Role.ASSISTANT, Role.SYSTEM))),
                text=draw(st.sampled_from(TEXTS)),
                seq=draw(st.integers(0, 9)) if wild else place,
                timestamp=draw(st.sampled_from(TIMES)),
            )
        )
    return made


@st.composite
def fragment(draw: st.DrawFn, story: Story) -> Fragment:
    """Draw a fragment that goes on where its file was, or any."""
    name, path = draw(st.sampled_from(NAMES)), draw(st.sampled_from(("a.jsonl", "b.jsonl")))
    wild = draw(st.integers(0, 3)) == 0
    first = story.places.get((name, path), 0)
    said = draw(events(name, first, wild=wild))
    if not wild:
        story.places[name, path] = first + len(said)
    rarely = draw(st.integers(0, 4)) == 0
    return Fragment(
        conversation_id=conversation_id(SOURCE, name),
        source=SOURCE,
        source_id=name,
        origin=Origin.INGEST if rarely and draw(st.booleans()) else Origin.CAPTURE,
        relative_path=path,
        title=draw(st.sampled_from((None, "a title", ""))) if rarely else None,
        workspace=draw(st.sampled_from(("[HOME]/work/mill", "[HOME]/work/port", None)))
        if rarely
        else "[HOME]",
        parent_id=draw(st.sampled_from((None, "", conversation_id(SOURCE, "parent")))) if rarely else None,
        automation=rarely and draw(st.booleans()),
        redactor_version=draw(st.sampled_from((1, 2))) if rarely else 1,
        events=said,
    )


def replace_segments(kept: Kept, names: list[str], *, version: int | None) -> None:
    """Put one new segment in the place of some; with a version, every text says `mill` for `crane` there."""
    hlcs: dict[str, int] = {}
    bodies: list[Body] = []
    for logged in list(kept.archive.log.since(0)):
        if not isinstance(logged.manifest, Segment) or logged.manifest.sha256 not in names:
            continue
        for stored, data in kept.archive.load(logged):
            body = Body(sha256=stored.sha256, data=data)
            if version is not None and b"crane" in data:
                body = body_of(without_cranes(decode_fragment(data), version))
            bodies.append(body)
            hlcs[body.sha256] = min(stored.hlc, hlcs.get(body.sha256, stored.hlc))
    built: Built = build(bodies)
    kept.archive.supersede(names, [(built, hlcs)], "a test")


def without_cranes(given: Fragment, version: int) -> Fragment:
    """Redact a fragment."""
    changed = [
        msgspec.structs.replace(event, text=event.text.replace("crane", "mill")) for event in given.events
    ]
    return msgspec.structs.replace(given, events=changed, redactor_version=version)


def act(data: st.DataObject, kept: Kept, story: Story) -> None:
    """Do one thing to the archive, and perhaps follow it."""
    rare = ("again",) if story.repeats else ("merge", "redact")
    what = data.draw(st.sampled_from(("tell", "tell", "tell", "tell", "seal", "bury", "revive", *rare)))
    names = list(kept.archive.current())
    ids: list[str] = [conversation_id(SOURCE, data.draw(st.sampled_from(NAMES)))]
    if what == "tell":
        told = data.draw(st.lists(fragment(story), min_size=1, max_size=3))
        told = [one for one in told if story.repeats or one not in story.told]
        story.told += told
        if data.draw(st.booleans()):
            kept.append(*told, seal=data.draw(st.booleans()))
        else:
            bodies = {body.sha256: body for body in map(body_of, told)}
            kept.archive.append(list(bodies.values()), seal=data.draw(st.booleans()))
    elif what == "again" and story.told:
        kept.append(data.draw(st.sampled_from(story.told)), seal=data.draw(st.booleans()))
    elif what == "seal":
        kept.archive.seal()
    elif what in ("bury", "revive"):
        tombstone = Tombstone(removed=ids) if what == "bury" else Tombstone(revived=ids)
        kept.archive.commit([], tombstone=tombstone)
    elif what in ("merge", "redact") and names:
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        replace_segments(kept, chosen, version=3 if what == "redact" else None)
    if data.draw(st.booleans()):
        kept.follow()
    if data.draw(st.integers(0, 2)) == 0:
        kept.letters()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_an_index_that_followed_equals_one_made_anew(data: st.DataObject) -> None:
    story = Story(repeats=data.draw(st.booleans(), "repeats"))
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder, closing(Kept(Path(folder))) as kept:
        for _ in range(data.draw(st.integers(1, 10), "steps")):
            act(data, kept, story)
        kept.follow()
        kept.letters()
        with kept.rebuilt() as fresh:
            assert contents(kept, QUERIES) == contents(fresh, QUERIES)
