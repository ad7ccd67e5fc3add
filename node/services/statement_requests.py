"""What the use-cases of statements are asked."""

from __future__ import annotations

from node.services.requests import Request


class RememberRequest(Request, frozen=True, kw_only=True):
    """`project` is a directory inside a repository; `statement` is checked by `statements.checked`.

    `supersedes` has record ids of the index, or prefixes of them; `private` keeps it on this node.
    """

    project: str
    statement: dict[str, object]
    supersedes: tuple[str, ...] = ()
    agent: str = "local"
    private: bool = False


class RecallRequest(Request, frozen=True, kw_only=True):
    """`directory` is where the asker stands; outside any repository nothing is recalled."""

    directory: str
    limit: int = 12


class FileContextRequest(Request, frozen=True, kw_only=True):
    """`path` is absolute; the file need not exist."""

    path: str


class IngestSynthesisRequest(Request, frozen=True, kw_only=True):
    """Take in what the mirror of statements and session records has and the feeds don't."""
