"""Turn what agents leave on this machine into the canonical archive, with the secrets taken out.

A transcript becomes events, events become fragments, fragments go to the store that the caller
hands in:

    provider's files -> providers/* -> redact -> fragments -> canonical store

One module in `providers` knows one agent's files and nothing else.  `redact` decides what may be
kept. Capture walks the sources, remembers how far each was read, and hands on what is new.
`sample` writes a small invented set of transcripts, for people who want to look before they have
any.

What it is not
--------------
It does not index, rank or answer: that is `retrieval`, which the caller feeds with the same
fragments.  It knows neither HTTP nor peers.  It needs no language model; the parts that will use
one (curation, synthesis) are not here yet, and nothing that is here waits for them.  It never
writes to an agent's files.

Seams
-----
- `providers.base.Provider` is what every adapter gives.  One contract suite runs over all of
  them.
- The store of fragments and the memory of cursors are parameters.
- The redactor reaches `retrieval` and `node` as a protocol, so that neither imports this package
  for it.

Invariants
----------
- No text reaches disk, index or log before it was redacted.  Redacting twice changes nothing.
- An adapter works on parts of messages and never guesses: what it does not know is counted by
  name.
- The same source bytes give the same event ids on every machine, at any time, in any order of
  reading.
- A half-written last line waits for its line end.  Reading the same source again adds nothing.
- A source that vanishes deletes nothing.
- SQLite of other applications is opened for reading only, and only in the adapters.
"""
