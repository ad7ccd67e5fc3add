"""Touch what lies outside the state directory: the checkout's environment, later the system.

So far this is `bootstrap`, which turns a fresh clone into a running node or a test run with one
command and the standard library alone.  Service units, the agents' own configurations, backups
and containers will live beside it, each with a receipt of what it changed, so that it can be
undone.

What it is not
--------------
It never touches replicated state, and it does not decide anything about memory, search or peers.
It is no package manager: pip does the work, and `bootstrap` sees to it that a killed or failed
run costs nothing.

Seams
-----
`bootstrap` is a program of its own that runs before anything is installed.  It imports nothing of
the application, reads the environment itself and prints; nothing else below `cli` may do either.
It hands over to the `atrium` command by replacing its own process, so that signals and exit
statuses need no forwarding.

Invariants
----------
- An environment counts as finished by a stamp that is written last; one without it is made anew.
- An environment that worked is put aside while its successor is made, and comes back when that
  fails.
- One set-up at a time for each checkout, the installer included.
- `bootstrap` can be read by Python 3.8, so that an old interpreter is answered with a sentence.
- What is written outside the state directory is small, named in the output, and safe to write
  twice.
- Standard output belongs to the command that is started; all that is said on the way goes to
  standard error.
"""
