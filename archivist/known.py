"""What the archive already has of a conversation, so that a second copy of it adds nothing.

Resumed sessions repeat earlier records in another file, and a rewritten transcript is read from its start
again.  The union would merge the copies anyway; leaving them out keeps a change at the cost of what it adds.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from archivist.fragments import Made, seal
from crdt.events import Event, Fragment
from crdt.union import Stamped, says_the_same, union
from retrieval.index_catalog import Catalog


class KnownEvents:
    """Looks conversations up in the catalog, and in fragments that are not in it yet."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._pending: dict[str, list[Made]] = {}

    def add(self, made: Iterable[Made]) -> None:
        """Remember fragments that are on their way into the archive."""
        for item in made:
            self._pending.setdefault(item.fragment.conversation_id, []).append(item)

    def forget(self, made: Iterable[Made]) -> None:
        """Drop fragments that are in the catalog by now."""
        for item in made:
            waiting = self._pending.get(item.fragment.conversation_id, [])
            if item in waiting:
                waiting.remove(item)
            if not waiting:
                self._pending.pop(item.fragment.conversation_id, None)

    def new_part(self, made: Made, *, may_repeat: bool) -> Made | None:
        """Leave out events that are known to say the same; None when nothing is left.

        Only looked at closely where the source was re-read (`may_repeat`) or another file has fed the
        same conversation.
        """
        fragment = made.fragment
        conversation = self._catalog.find(fragment.conversation_id)
        pending = self._pending.get(fragment.conversation_id, [])
        paths = {item.fragment.relative_path for item in pending}
        if conversation is not None:
            paths |= self._catalog.streams(conversation)
        if not paths or (paths == {fragment.relative_path} and not may_repeat):
            return made
        stamped = [Stamped(fragment=item.fragment, sha256=item.body.sha256, hlc=0) for item in pending]
        if conversation is not None:
            stamped += self._catalog.fragments(conversation)
        return without(made, union(stamped).conversation.events) if stamped else made


def without(made: Made, known: Iterable[Event]) -> Made | None:
    """Take known events out of a fragment; None when nothing is left of it."""
    by_id = {event.id: event for event in known}
    fresh = [
        event
        for event in made.fragment.events
        if (old := by_id.get(event.id)) is None or not says_the_same(old, event)
    ]
    if not fresh:
        return None
    if len(fresh) == len(made.fragment.events):
        return made
    return seal(_with_events(made.fragment, fresh))


def _with_events(fragment: Fragment, events: list[Event]) -> Fragment:
    kept = {event.id for event in events}
    redactions = {key: count for key, count in fragment.redactions.items() if key in kept}
    return msgspec.structs.replace(fragment, events=events, redactions=redactions)
