"""Memory: what agents and people keep on purpose.  The text is the memory itself.

`kind` says how it ages: a `memory` decays, a `doc` is stable, a `directive` stands where it was accepted, a
`skill` is a procedure, `compiled` is anchored to code.  Instants are milliseconds since 1970.
"""

from __future__ import annotations

from crdt.field_rules import INSTANT, LINE, NAME, NAMES, Choice, Content, Flag, Number, RecordType
from crdt.memory_kinds import KINDS, SCOPES

MEMORY = RecordType(
    name="memory",
    fields={
        "kind": Choice(KINDS),
        "project": NAME,
        "workspace": LINE,
        "scope": Choice(SCOPES),
        "confidence": Number(low=0, high=1),
        "parents": NAMES,
        "expires_at": INSTANT,
        "origin": LINE,
        "headline": LINE,
        "source_path": LINE,
        "source_sha": NAME,
        "source_commit": NAME,
        "author_updated_at": INSTANT,
        "collaborative": Flag(),
        "trust": Choice(("trusted", "untrusted")),
    },
    required=frozenset({"kind"}),
    is_collaborative=True,
)

FEED_ITEM = RecordType(
    name="feed-item",
    fields={
        "feed": LINE,
        "guid": LINE,
        "url": LINE,
        "title": LINE,
        "published_at": INSTANT,
        "project": NAME,
    },
    required=frozenset({"feed", "guid"}),
    content=Content.OPTIONAL,
)
"""An item of a subscribed feed, always untrusted."""
