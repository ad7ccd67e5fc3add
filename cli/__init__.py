"""The `atrium` command: ask the node, or the state directory without one, and show the answer.

`main` finds the command and maps errors to exit statuses.  `client` asks: a running node over its
unix socket, else the same use-case in this process.  `output` turns documents into lines.
`commands` has one module for each command, imported when that command is called.

What it is not
--------------
It decides nothing.  A command reads its arguments, sends one request, prints one document.  If it
needs an `if` about memory, search or capture, that belongs to `node.services`.  It is no library:
nothing imports it.

Seams
-----
- The table of commands is text, so that starting one command imports that one.
- `--json` prints the document as the use-case gave it, with its schema version; people get lines
  made from it.
- `hook` will be called by agents and uses the standard library alone.

Invariants
----------
- Exit status 0 done, 1 unavailable or broken, 2 bad input, 3 no such pending thing, 75 state in
  use.
- An error is one line that says what is wrong and one that says what mends it, on standard error;
  standard output stays empty then.  A traceback is a bug.
- With `--json`, standard output is one JSON document and nothing else, whatever the terminal.
- A search starts fast: its path imports no help renderer, no tables, no logging library, no
  numerics.
- Help teaches by example: each command's help has a line that can be pasted.
- Ctrl-C is safe at any moment, and a closed pipe is no error.
- Colour and progress appear on a terminal only, and never where NO_COLOR says so.
"""
