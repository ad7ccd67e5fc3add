"""Canonical data: what was said, in bytes that can be checked, and how copies of it merge.

`events` says what an archive is made of.  `union` merges fragments of one conversation.  `segments`
are the immutable files, `manifests` the log that names them, `store` that log in SQLite, `archive`
puts the three together, and `archive_file` is the form in which an archive travels as one file.
`ids`, `canonical` and `clock` are what everything here is named, written and ordered by; `errors` is
the tree of the whole application, and `sqlite` the way in which every database of a state
directory is opened.

What it is not
--------------
It knows no provider, no network, no model and no search.  It does not redact: what arrives here is
redacted.  It keeps no catalog of what is in the segments; that is derived, and belongs to whoever
indexes.

Seams
-----
`manifests.ManifestLog` is the log: append is durable and whole, `since` walks it.  It is SQLite rows
now, and signed entries of a feed later; nothing else changes then.  `SegmentDirectory` is plain
files.  The wall clock of `clock.HybridClock` is a parameter.

Invariants
----------
- A file is named by the hash of its bytes, is published by a link that can't replace, and is never
  changed afterwards.  The manifest that names it is committed after it is durable.
- `append` returns after the commit.  A crash leaves the state before or after, never between.
- The union is commutative, associative and idempotent.  Which version of an event is served follows
  from the redactor's version, the hybrid clock of the manifest that first carried it, and the hash of
  its fragment (`union._rank`), so that every holder of the same fragments serves the same bytes.
- A fragment keeps the clock of its first manifest, wherever it is moved to.
- Nothing is erased but segments that a manifest has replaced, and unnamed files that a crash left.
- Bytes that fail their hash are reported, never served.
"""
