"""A state directory with shared memory of any size, and everything that it answers to fifty questions.

Memory is written as the services write it: redacted, checked, signed; then one entry in five is edited, one
in seven tagged, one in twenty deleted.  Statements take the place of each other and of what transcripts say.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from crdt.feed_tables import Committed
from crdt.operations import Operation
from node.composition import Local, open_local
from node.config import NodeConfig
from node.services import record_changes, records, remember, search
from node.services.catalog import USE_CASES, Document
from node.services.level import bring_level
from node.services.memory_requests import DecisionAdd
from node.services.records import Write
from node.services.requests import SearchRequest
from node.services.statement_requests import RememberRequest
from node.services.status import describe

GROUP = 500
STATEMENTS = 12
DECISIONS = 6
PROJECTS = 23
WORDS = tuple(f"word{number}" for number in range(3_000))
MOMENTARY = frozenset({"ms", "elapsed_ms", "effective_confidence", "last_refresh", "cursor", "served_by"})
"""What differs between two answers to one question, since it tells of the moment or of who answered."""

Question = tuple[str, dict[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a state directory is and says: equal before and after everything derived was made anew."""

    digest: str
    projection_digest: str | None
    records: dict[str, int]
    answers: list[str]

    def differences(self, other: Standing) -> list[str]:
        """Name what differs."""
        named = [
            name
            for name in ("digest", "projection_digest", "records")
            if getattr(self, name) != getattr(other, name)
        ]
        pairs = zip(self.answers, other.answers, strict=True)
        return [*named, *(f"answer {number}" for number, pair in enumerate(pairs) if pair[0] != pair[1])]


def fill(settings: NodeConfig, entries: int, words: Sequence[str], project: Path) -> None:
    """Keep so many entries, and some statements and decisions about `project`; bring everything level.

    `words` are in the transcripts; what is found by some of them is superseded.
    """
    (project / ".git").mkdir(parents=True, exist_ok=True)
    with closing(open_local(settings, writable=True)) as local:
        bring_level(local, _ignore)
        for start in range(0, entries, GROUP):
            _keep_entries(local, range(start, min(start + GROUP, entries)))
        bring_level(local, _ignore)
        _keep_statements(local, words, project)
        for number in range(DECISIONS):
            decided = DecisionAdd(decision=f"Option {number} it is", rationale=" ".join(WORDS[number::400]))
            USE_CASES["decision.add"].call(local, decided, _ignore)
        local.substrings.catch_up()


def _keep_entries(local: Local, numbers: range) -> None:
    author, home = local.feeds.author(), local.feeds.home()
    made = records.write(
        local,
        [
            Write(space=home, operation=record_changes.created(author, _said(number)), is_new=True)
            for number in numbers
        ],
    )
    changes = []
    for number, committed in zip(numbers, made, strict=True):
        change = _change(local, committed, number)
        if change is not None:
            changes.append(Write(space=home, operation=change))
    if changes:
        records.write(local, changes)


def _change(local: Local, committed: Committed, number: int) -> Operation | None:
    if number % 5 and number % 7:
        return None
    state = records.created(local, committed).state
    if number % 20 == 0:
        return record_changes.deleted(state, "sweeper")
    if number % 5 == 0:
        return record_changes.edited(state, "editor", f"{state.text} revised{number}", {"confidence": 0.9})
    return record_changes.tagged(state, "sorter", ["sorted"], [])


def _said(number: int) -> Operation:
    chance = random.Random(number)  # noqa: S311
    return Operation(
        id="",
        type="memory",
        agent=f"agent-{number % 12}",
        text=f"entry{number} " + " ".join(chance.choices(WORDS, k=chance.randint(5, 60))),
        tag=[f"tag-{number % 97}"],
        set={
            "kind": "doc" if number % 40 == 1 else "memory",
            "scope": "project",
            "project": f"project-{number % PROJECTS}",
            "confidence": round(chance.random(), 2),
        },
    )


def _keep_statements(local: Local, words: Sequence[str], project: Path) -> None:
    older: tuple[str, ...] = ()
    for number in range(STATEMENTS):
        hits = _hits(local, words[number % len(words)])
        said = RememberRequest(
            project=str(project),
            statement={
                "title": f"Finding {number} of the gauge",
                "summary": f"What is said of {words[number % len(words)]} holds, {WORDS[number]} or not.",
                "facts": [f"fact {number}", " ".join(WORDS[number::500])],
            },
            supersedes=older + tuple(hits[:1] if number % 3 == 0 else ()),
        )
        document = remember.handle(local, said, _ignore)
        older = (str(document["record_id"]),) if number % 2 == 0 else ()


def _hits(local: Local, word: str) -> list[str]:
    found = search.handle(local, SearchRequest(query=word, everywhere=True, directory="/"), _ignore)["hits"]
    assert isinstance(found, list)
    return [str(hit["record_id"]) for hit in found if hit["role"] in ("user", "assistant")]


def questions(settings: NodeConfig, words: Sequence[str], project: Path) -> list[Question]:
    """Make up fifty questions: every lane, context, recall, lists and entries of memory, decisions."""
    with closing(open_local(settings, writable=False)) as local:
        listed = _ask(local, ("memory.list", {"limit": 200}))["items"]
    assert isinstance(listed, list)
    identities = [str(item["id"]) for item in listed[:: max(1, len(listed) // 6)]][:6]
    asked = [*_searches(words), *_contexts(words, project), *_lists()]
    asked += [("memory.get", {"id": identity}) for identity in identities]
    asked += [("recall", {"directory": str(project)}), ("decision.list", {})]
    assert len(asked) == 50, len(asked)
    return asked


def _searches(words: Sequence[str]) -> Iterator[Question]:
    chance = random.Random("searches")  # noqa: S311
    for lane, count in (("words", 12), ("substring", 8), ("auto", 8)):
        for number in range(count):
            known = chance.choice(words if number % 2 else WORDS)
            query = f"{known} {chance.choice(WORDS)}" if lane == "words" else known[len(known) > 4 :]
            if number == 0:
                query = "gauge"
            yield "search", {"query": query, "lane": lane, "limit": 30, "everywhere": True, "directory": "/"}


def _contexts(words: Sequence[str], project: Path) -> Iterator[Question]:
    chance = random.Random("contexts")  # noqa: S311
    for number in range(8):
        query = f"what of {chance.choice(words)} and {chance.choice(WORDS)}"
        if number % 4 == 0:
            yield "context", {"query": f"{query}, and the gauge", "project": str(project)}
        else:
            yield "context", {"query": query}


def _lists() -> list[Question]:
    filters: list[dict[str, object]] = [
        {},
        {"project": "project-3"},
        {"tag": "tag-5"},
        {"agent": "agent-5", "type": "doc"},
        {"tag": "sorted", "project": "project-1"},
        {"deleted": True},
    ]
    return [("memory.list", one) for one in filters]


def standing(settings: NodeConfig, asked: Sequence[Question]) -> Standing:
    """Give digests, counts and the answer to every question, as a process beside the node gives them."""
    with closing(open_local(settings, writable=False)) as local:
        status = describe(local, 0.0)
        answers = [msgspec.json.encode(_lasting(_ask(local, one))).decode() for one in asked]
    counted = status["records"]
    assert isinstance(counted, dict)
    digest = status["projection_digest"]
    return Standing(
        digest=str(status["digest"]),
        projection_digest=None if digest is None else str(digest),
        records=counted["bySource"],
        answers=answers,
    )


def _ask(local: Local, question: Question) -> Document:
    name, arguments = question
    case = USE_CASES[name]
    return case.call(local, msgspec.convert(arguments, case.request), _ignore)


def _lasting(value: object) -> object:
    """Leave out what tells of the moment."""
    if isinstance(value, Mapping):
        return {name: _lasting(one) for name, one in value.items() if name not in MOMENTARY}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


def empty(found: Standing) -> list[int]:
    """Name by their numbers the answers that say nothing, and so would prove nothing."""
    return [
        number
        for number, answer in enumerate(found.answers)
        if any(nothing in answer for nothing in ('"hits":[]', '"items":[]', '"evidence":[]'))
    ]


def archive_bytes(settings: NodeConfig) -> int:
    """Give the size of the archive's segments without compression."""
    with closing(open_local(settings, writable=False)) as local:
        return sum(segment.size_bytes for segment in local.archive.current().values())


def _ignore(_document: Document) -> None:
    """Take a sign of progress that nobody sees."""
