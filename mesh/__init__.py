"""Bring the feeds and the archives of linked nodes level.

One node runs alone so far: nothing here opens a socket yet.  What will cross the mesh (feed entries
and archive segments, nothing else) is already self-contained and named by its hash or its author.

What lives here
---------------
- identity    the Ed25519 key of this node, the key that is promised to follow it, and their file
- identity_backup
              both in one file for elsewhere, sealed with a passphrase if wanted
- member_key  what a node hands out to be made a member of a space
- sealed, trust
              objects that a node signed: link tokens and grants; no command makes one yet

What will live here
-------------------
- discovery   neighbours on the local network, as hints of addresses and never as proof of anything
- handshake, wire, sync
              pure state machines, `step(state, event) -> (state, actions)`, driven in tests by a seed
- link        the WebSocket over TLS that carries them
- blobs       segments by hash, resumable, checked before they are published
- peers       the supervised set of links

What it is not
--------------
It does not know what a record means, how search works, or that there is an HTTP API.  It never
carries an index, a vector, a capture queue, a snapshot, a setting or a permission: those belong
to one node.

Seams
-----
`Carrier` (put and list entries, put and get blobs, subscribe) will be the only one.  The direct
link between two nodes is its first implementation; a broker with an object store can be another,
because entries carry their author's signature and segments their hash, so a carrier is never
trusted.

Invariants
----------
- It imports `crdt` and nothing else of the application, and it is independent of `retrieval`.
- A carrier can delay an entry; it can't forge, reorder or rewrite one.
- Discovery finds addresses; it says nothing about identity, liveness or membership.
- Code without input and output stays so: clocks, randomness and sockets are parameters.
"""
