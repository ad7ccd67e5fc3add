"""What the archive already has of a conversation, so that a second copy of it adds nothing.

Resumed sessions repeat earlier records in another file, a rewritten transcript is read from its start again,
and so is what was archived when a crash kept its cursor from being stored.  The union would merge the copies
anyway; leaving them out keeps a change at the cost of what it adds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import msgspec

from archivist.fragments import Made, seal
from crdt.events import Conversation, Event, Fragment, Origin
from crdt.union import Stamped, event_key, says_the_same, union
from retrieval.index_catalog import Catalog

_LATEST_HLC = (1 << 63) - 1
"""What is on its way into the archive is later than what is there."""


class KnownEvents:
    """Looks events up in the catalog, and in fragments that are not in it yet.

    One thread may ask while another one, which writes, says what has reached the catalog.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._pending: dict[str, dict[str, Made]] = {}
        self._lock = threading.Lock()

    def add(self, made: Iterable[Made]) -> None:
        """Remember fragments that are on their way into the archive."""
        with self._lock:
            for item in made:
                self._pending.setdefault(item.fragment.conversation_id, {})[item.body.sha256] = item

    def forget(self, made: Iterable[Made]) -> None:
        """Drop fragments that are in the catalog by now."""
        with self._lock:
            for item in made:
                waiting = self._pending.get(item.fragment.conversation_id, {})
                waiting.pop(item.body.sha256, None)
                if not waiting:
                    self._pending.pop(item.fragment.conversation_id, None)

    def has_conversation(self, identity: str) -> bool:
        """Tell whether anything is known of a conversation."""
        # In this order, since what leaves the pending ones is in the catalog by then.
        return bool(self._waiting(identity)) or self._catalog.find(identity) is not None

    def new_part(self, made: Made) -> Made | None:
        """Leave out events that are known to say the same; None when nothing is left.

        What is left may be no event at all, but a title that changed, say.  The archive is only read where an
        event is known, whatever it says.
        """
        identity, events = made.fragment.conversation_id, made.fragment.events
        # The catalog is asked second: what leaves the pending ones meanwhile is in it then.
        pending = self._waiting(identity)
        row = self._catalog.find(identity)
        keys = {event_key(event) for item in pending for event in item.fragment.events}
        if not any(event_key(event) in keys for event in events) and (
            row is None or not self._catalog.has_any(identity, events)
        ):
            return made
        stamped = self._catalog.fragments(row) if row is not None else []
        stamped += [
            Stamped(fragment=item.fragment, sha256=item.body.sha256, hlc=_LATEST_HLC) for item in pending
        ]
        known = union(stamped).conversation
        fresh = without(made, known.events) or head_of(made, known)
        return fresh if fresh is not None and not self._has(fresh, pending) else None

    def _has(self, made: Made, pending: Iterable[Made]) -> bool:
        """Tell whether a fragment of the same bytes is there: it says what was corrected since."""
        return (
            any(item.body.sha256 == made.body.sha256 for item in pending)
            or self._catalog.place(made.body.sha256) is not None
        )

    def _waiting(self, identity: str) -> list[Made]:
        with self._lock:
            return list(self._pending.get(identity, {}).values())


def without(made: Made, known: Iterable[Event]) -> Made | None:
    """Take known events out of a fragment; None when nothing is left of it.

    A captured event that stands further up in its file than the known copy is news: by its place the union
    orders what was said in one moment, whichever file was captured first.
    """
    is_captured = made.fragment.origin == Origin.CAPTURE
    by_key = {event_key(event): event for event in known}
    fresh = [
        event
        for event in made.fragment.events
        if (old := by_key.get(event_key(event))) is None
        or not says_the_same(old, event)
        or (is_captured and event.seq < old.seq)
    ]
    if not fresh:
        return None
    if len(fresh) == len(made.fragment.events):
        return made
    return seal(_with_events(made.fragment, fresh))


def head_of(made: Made, known: Conversation) -> Made | None:
    """Make a fragment without events of what is new about a conversation itself; None where nothing is."""
    given = made.fragment
    is_news = (
        (given.title or known.title) != known.title
        or (given.workspace is not None and known.workspace is None)
        or (given.parent_id is not None and known.parent_id is None)
        or given.automation > known.automation
    )
    return seal(_with_events(given, [])) if is_news else None


def _with_events(fragment: Fragment, events: list[Event]) -> Fragment:
    kept = {event.id for event in events}
    redactions = {key: count for key, count in fragment.redactions.items() if key in kept}
    return msgspec.structs.replace(fragment, events=events, redactions=redactions)
