"""Find things again: a disposable index over archive, shared memory and notes, and the answers from it.

`follow`, `record_follow` and `notes` bring the index level with the archive, the records of shared
memory and a person's notes; `words` and `substrings` are the two lanes that look something up, and
`context` makes the bounded, attributed answer that an agent reads.  `superseded` keeps which records
were replaced by which.  `scope` decides which project a directory belongs to,
`chunk` and `notes` cut Markdown by its headings, `excerpt` picks the part of a text that is worth
showing.

What it is not
--------------
It is not the truth.  Everything in it can be deleted and made again from the canonical archive
and the notes, with the same record ids, the same digest and the same answers.  It does not know
peers, how records are merged, or language models.  It does not redact; what reaches it is
redacted already, and questions that are logged go through a redactor that the caller hands in.

Seams
-----
Lanes share one small shape: a query, a scope and a depth in, scored record ids out.  That is how
the dense lane will join without a change to fusion or context.  The index is opened by
`node.composition` and handed in.

Invariants
----------
- Filters apply inside the index, never to a list that was cut already.
- Reading changes nothing: no counter, no rank, no confidence.
- What was superseded ranks behind all that holds, and expired memory is in no answer.
- Equal scores are ordered by record id, so that two machines answer alike.
- A lane that can't answer says so in the answer; an empty answer means that nothing was found.
- Every query has one budget of time for all its passes, and says when it ran out.
- Rows that did not change are not written.
- Records that go in are counted and compared with the rows that come out; a difference is an
  error.
- sqlite3 appears in the index modules alone, and no SQL is built from strings that came from
  outside.
"""
