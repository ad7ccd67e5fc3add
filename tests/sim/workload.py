"""What users do on a node: records of several types, made, changed at the same time, deleted, erased."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from crdt import statements
from crdt.collaboration import as_edit
from crdt.edges import edge_id
from crdt.entries import Draft, EntryKind
from crdt.errors import BadInput
from crdt.operations import NONCE_BYTES, Operation, Value, encode, minted
from crdt.projection_reader import RecordView
from crdt.records import RecordState, base_of, check
from tests.sim.machine import Machine

TEXTS = (
    "one\ntwo\nthree",
    "one\n2\nthree",
    "one\ntwo\n3",
    "uno\ntwo\nthree",
    "another",
    "one\ntwo\nthree\nfour",
)
TAGS = ("a", "b", "c")
SEEN_MAX = 20
_FIELDS: tuple[dict[str, Value], ...] = (
    {"project": "p"},
    {"project": "q"},
    {"project": None},
    {"workspace": "w", "confidence": 0.5},
    {"confidence": 0.9},
    {"state": "claimed", "claimed_by": "x"},
    {"state": "completed"},
    {"priority": "high"},
)


class User:
    """Writes on one machine into one space; remembers what was on the screen earlier, and works from that."""

    def __init__(self, random: Random, machine: Machine, space: bytes, *, may_erase: bool) -> None:
        self._random, self._machine, self._space = random, machine, space
        self._may_erase = may_erase
        self._seen: list[RecordView] = []

    def drafts(self) -> list[Draft]:
        """Think of the next thing to write, one or a few operations that belong together."""
        random = self._random
        views = self._views()
        if not views or random.random() < 0.3:
            return [self._record(self._creation())]
        view = random.choice(views)
        if self._may_erase and random.random() < 0.06:
            return self._erasure(view)
        return [self._record(operation) for operation in self._changes(view)]

    def rival_drafts(self, record: str, *, about_text: bool) -> list[Draft]:
        """Think of a text or a project for one record; nothing where it is not to be seen or has none."""
        found = [view for view in self._machine.views() if (view.space, view.id) == (self._space, record)]
        if not found:
            return []
        state = found[0].state
        bare = Operation(id=state.id, type=state.type, base=base_of(state))
        parts = {"text": self._text()} if about_text else {"set": {"project": self._random.choice("pqrst")}}
        change = msgspec.structs.replace(bare, **parts)
        return [self._record(self._collaborative(change, found[0]))] if _is_sayable(change) else []

    def record(self) -> str | None:
        """Point at some record that is there."""
        views = self._views()
        return self._random.choice(views).id if views else None

    def own_drafts(self) -> list[Draft]:
        """Think of something that is nobody else's: for this node's home, or its private space."""
        store = self._machine.store
        space = self._random.choice((store.home, store.private))()
        return [Draft(space=space, kind=EntryKind.RECORD, body=encode(self._memory()))]

    def _views(self) -> list[RecordView]:
        """Give what is to be seen in the space: mostly what is there now, sometimes what was earlier."""
        if self._seen and self._random.random() < 0.3:
            return self._seen
        views = [view for view in self._machine.views() if view.space == self._space]
        self._seen = self._random.sample(views, min(len(views), SEEN_MAX))
        return views

    def _creation(self) -> Operation:
        make = self._random.choices(
            (
                self._memory,
                self._document,
                self._task,
                self._decision,
                self._edge,
                self._statement,
                self._unknown,
            ),
            (8, 2, 3, 1, 2, 2, 1),
        )[0]
        return make()

    def _memory(self) -> Operation:
        tags = self._random.sample(TAGS, self._random.randint(0, 2))
        fields: dict[str, Value] = {"kind": "memory", "confidence": round(self._random.random(), 2)}
        return self._minted("memory", fields, text=self._text(), tag=tags)

    def _document(self) -> Operation:
        return self._minted("memory", {"kind": "doc", "collaborative": True}, text=self._text())

    def _task(self) -> Operation:
        return self._minted("task", {"title": "do", "state": "open"})

    def _decision(self) -> Operation:
        return self._minted("decision", {"decision": self._text()})

    def _unknown(self) -> Operation:
        return self._minted("hologram", {"depth": 3})

    def _edge(self) -> Operation:
        start, end = self._random.choice(TAGS), self._random.choice(TAGS)
        fields: dict[str, Value] = {"from": start, "to": end, "relation": "supersedes"}
        return Operation(id=edge_id("supersedes", start, end), type="edge", set=fields)

    def _statement(self) -> Operation:
        fields: dict[str, Value] = {"title": self._random.choice(TAGS), "summary": "s", "workspace": "w"}
        return Operation(
            id=statements.job_key(fields), type="statement", set=fields, text=statements.render(fields)
        )

    def _minted(
        self, type_: str, fields: dict[str, Value], *, text: str | None = None, tag: Sequence[str] = ()
    ) -> Operation:
        nonce = self._random.randbytes(NONCE_BYTES)
        record = minted(self._machine.key, nonce)
        return Operation(id=record, type=type_, set=fields, text=text, tag=list(tag), nonce=nonce)

    def _changes(self, view: RecordView) -> list[Operation]:
        count = self._random.choice((1, 1, 1, 2))
        changes = [self._change(view.state) for _ in range(count)]
        return [self._collaborative(change, view) for change in changes if _is_sayable(change)]

    def _change(self, state: RecordState) -> Operation:
        bare = Operation(id=state.id, type=state.type, base=base_of(state))
        dots = [(tag, adder) for tag, adders in state.tags.items() for adder in adders]
        parts = self._random.choices(
            (
                {"text": self._text()},
                {"set": self._random.choice(_FIELDS)},
                {"tag": [self._random.choice(TAGS)]},
                {"untag": self._random.sample(dots, min(len(dots), 2))},
                {"deleted": not state.deleted},
            ),
            (8, 5, 3, 3, 3),
        )[0]
        return msgspec.structs.replace(bare, **parts)

    def _collaborative(self, operation: Operation, view: RecordView) -> Operation:
        if not view.field("collaborative") or operation.text is None:
            return operation
        before = self._machine.reader().operations(view)
        return as_edit(operation, before, self._machine.store.roster(self._space), self._machine.key)

    def _erasure(self, view: RecordView) -> list[Draft]:
        """Erase the body of some operation on a record, as who may and as who may not."""
        target = self._random.choice(view.state.heads)
        return [Draft(space=self._space, kind=EntryKind.ERASE, body=target)]

    def _record(self, operation: Operation) -> Draft:
        return Draft(space=self._space, kind=EntryKind.RECORD, body=encode(operation))

    def _text(self) -> str:
        return self._random.choice(TEXTS)


def _is_sayable(operation: Operation) -> bool:
    """Tell whether the use-cases would let a user say this."""
    try:
        check(operation, new=False)
    except BadInput:
        return False
    return True
