"""Put the parts together into one node: its use-cases, its process, its local listeners.

`composition` is the one place that constructs stores and hands them out.  `config` is the one
place that reads the environment.  `paths` is the one place that knows where files are.
`services` holds the use-cases, one module each, and the table of them.  `daemon` runs them in one
long-lived process; `api` lets others on this machine ask. `service` is how long-lived parts
start, fail and end.

What it is not
--------------
It does not print and does not know a terminal: it gives documents, `cli` shows them.  It holds no
rule about how records merge, how text is redacted or how hits are ranked; those are asked of the
packages below.

Seams
-----
- A use-case is `handle(local, request, progress) -> document`.  The command without a node, the
  unix socket and later REST and MCP call the same table, which is why they give the same answers.
- Progress is a callback that takes a small document; whoever asked decides what to show.
- Clocks, homes and environments come in through `config`, so that a test gives its own.

Invariants
----------
- One writer for each state directory, enforced by a lock on a file.  A second daemon ends with
  status 75.
- A reader takes no lock and creates nothing but the query log.
- A request is answered the same with and without a running node.
- The listeners are a unix socket with an owner check and 127.0.0.1; nothing here listens on
  another address.
- Blocking work leaves the event loop.  Every queue, retry and wait has a named bound.
- Logs have fixed event names and fields; no text of a transcript, no question and no key is ever
  logged.
- Settings come from flags, then the environment, then `config.toml`, then defaults; an unknown
  key is an error.
"""
