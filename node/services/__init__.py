"""The use-cases of a node, one module each, called by every adapter and calling only what is below.

A module has the name of its use-case and one function, `handle(local, request, progress)`, which
gives a document of builtins that JSON can carry.  `catalog` names all of them with their request
types; `requests` has those types.

A handler raises errors of `crdt.errors` and never prints, never logs what was asked, and knows
nothing of HTTP or a terminal.  It gets the open stores in `local` and does not construct any.
Modules are imported when their use-case is called, so that asking for one does not pay for the
others.
"""
