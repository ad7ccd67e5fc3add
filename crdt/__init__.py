"""Canonical data: what was said, in bytes that can be checked, and how copies of it merge.

Two things are canonical: signed feeds of entries, and archive segments.  Everything else in a state directory
can be made again from them.

    entries, keys         one signed entry: fixed header, body, signature; which keys are acceptable
    roster, chains        who belongs to a space; which foreign entries are taken, and in what order
    pages, have           how feeds travel (pycrdt), and how two nodes tell what the other lacks
    operations, records   one change to one record; what a record of each type may say
    reducer, merge_text   what a set of operations amounts to: here every conflict is decided
    events, union         what an archive is made of; how fragments of one conversation merge
    segments, archive     immutable files; append, seal, supersede
    store, feed_writer    feeds in SQLite; the one writer, many entries to a commit
    projection            the current state of every record, derived; and the feed of changes to it
    verification          every hash and signature, checked again

What it is not
--------------
It knows no provider, no network, no model and no search.  It does not redact: what arrives here is
redacted.  It opens no key file: whoever has a key passes a `keys.Signer` in.

Where a conflict is decided
---------------------------
In `reducer.reduce`, a pure function from the set of operations on a record to its state.  It first asks which
operations count (`record_rights`: the right that the author had at the entry's own clock, as the roster says
from all that is here) and in which order (`causal_order`: by hybrid clock, but always later than what an
operation builds on, then by author and entry hash).  Each field goes to the last writer in that order; tags
are observed-remove; a text that two people changed at once is merged line by line where they touched
different lines, and is otherwise served from one of them with the other as a visible conflict.  No order of
arrival, no number of copies and no machine changes the result.

Why a peer can't forge
----------------------
An entry is signed by its author over a header that names space, author, number, the hash of the entry before
and the hash of the body (`entries`).  `chains` takes an entry only if that signature, or the one of a later
entry of the same chain, is good, and the author stands on the space's roster, which only owners can write
(`roster`).  The id of a memory, task or message is derived from its creator's key (`operations.minted`), so
nobody can claim another's record by an earlier clock; statements, edges and projects are named by what they
say.  What an author may change, the reducer asks the roster.  Who steals the key of a removed member can
still sign; but a removal names the ends of each feed, and what leads to none of these is void (`branches`).
Foreign page documents are opened beside, read, checked and written again by us (`pages`): a raw CRDT update
is never applied to anything that lasts.

Seams
-----
`keys.Signer` is a node's key, wherever it is kept.  `chains.Chains` is what admission asks of a store, and
`projection_feeds.FeedReader` what the projection reads of one: SQLite in a node, memory in the simulator.
`manifests.ManifestLog` is the archive's view of the feeds.  Wall clocks are parameters.

Invariants
----------
- A node writes only its own feed, and never continues a chain after an unclean stop: it begins a new
  incarnation (`incarnation`).
- `write` and `append` return after the commit (synchronous=FULL).  A crash leaves the state before or after.
- Two hashes at one place of a feed are both kept and both count; the feed is marked, and no more is appended.
- A file is named by the hash of its bytes, published by a link that can't replace, and never changed.
- The union of fragments and the reduction of operations are commutative, associative and idempotent.
- Nothing is erased but segments that a manifest has replaced, bodies that a signed entry erases, and unnamed
  files that a crash left.
- Bytes that fail their hash are reported, never served.
"""
