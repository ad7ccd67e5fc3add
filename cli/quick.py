"""Answer an ordinary search before anything else is imported.

Parsing and explaining commands costs as much time again as a whole search.  Agents search in every turn,
so the usual words of `search` are read here; whatever is unusual, a request for help or a wrong word, is
left to the group of commands, which reads the same words the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

LANES = {"--words": "words", "--substring": "substring", "--dense": "dense", "--auto": "auto"}
SWITCHES = {"--all": "everywhere", "--all-kinds": "all_kinds", "--json": "as_json"}
VALUES = {"--limit": "limit", "--project": "project", "--fusion": "fusion"}


def answer(arguments: Sequence[str]) -> int | None:
    """Search and give the exit status; None when these are not the usual words of a search."""
    if not arguments or arguments[0] != "search":
        return None
    given = read(arguments[1:])
    if given is None:
        return None
    from cli import exits
    from cli.searching import Options, search

    make: Callable[..., Options] = Options
    return exits.guarded(lambda: search(make(**given)))


def read(words: Sequence[str]) -> dict[str, object] | None:
    """Read the words after `search`; None where click has to decide what they mean."""
    given: dict[str, object] = {}
    query: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            query.extend(rest)
        elif not word.startswith("-") or word == "-":
            query.append(word)
        elif not _take(word, rest, given):
            return None
    return {**given, "query": tuple(query)} if query else None


def _take(word: str, rest: Iterator[str], given: dict[str, object]) -> bool:
    """Take one option, and its value from what follows; False for one that is not usual."""
    name, equals, value = word.partition("=")
    if name in VALUES:
        text = value if equals else next(rest, None)
        if text is None or (VALUES[name] == "limit" and not (text.isascii() and text.isdigit())):
            return False
        given[VALUES[name]] = int(text) if VALUES[name] == "limit" else text
        return True
    if equals:
        return False
    if name in LANES:
        given["lane"] = LANES[name]
    elif name in SWITCHES:
        given[SWITCHES[name]] = True
    else:
        return False
    return True
