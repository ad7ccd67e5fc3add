"""Entries, versions and conflicts as lines for people."""

from __future__ import annotations

from cli import output

ID_CHARS = 8
"""Of a random id: two of 10,000 share so many once in a hundred collections, and a command says so then."""
HEADLINE_CHARS = 100


def entry(document: output.Document) -> None:
    """Print a whole entry."""
    output.line(f"{output.strong(output.text_of(document, 'id'))}  {about(document)}")
    _indented(output.text_of(document, "content"))
    for conflict in output.list_of(document, "conflicts"):
        output.line(output.faint(f"  also said, by {_who(conflict)} {_when(conflict, 'at')}:"))
        _indented(output.text_of(conflict, "content"), "    ")


def row(document: output.Document) -> None:
    """Print an entry on two lines."""
    output.line(f"{output.strong(output.text_of(document, 'id')[:ID_CHARS])}  {about(document)}")
    output.line(f"  {headline(document)}")


def version(document: output.Document) -> None:
    """Print one version of an entry."""
    number = output.number_of(document, "version")
    output.line(f"{number:>4}  {_when(document, 'at')} · {_who(document)} · {_changes(document)}")
    _indented(output.text_of(document, "content"), "      ")


def conflict(document: output.Document) -> None:
    """Print the texts of an entry that nobody has decided between, the served one first."""
    output.line(
        output.strong(output.text_of(document, "id")) + ("  deleted" if document.get("deleted") else "")
    )
    for number, said in enumerate(output.list_of(document, "versions")):
        state = "served" if number == 0 and not document.get("deleted") else "also said"
        output.line(output.faint(f"  {state}, by {_who(said)} {_when(said, 'at')}:"))
        _indented(output.text_of(said, "content"), "    ")


def about(document: output.Document) -> str:
    """Say of an entry in one line what and whose it is."""
    tags = [f"#{tag}" for tag in output.texts_of(document, "tags")]
    project, space = output.text_of(document, "project"), output.text_of(document, "space")
    words = [
        output.text_of(document, "type"),
        _when(document, "updated_at"),
        _who(document),
        project,
        "" if space == "home" else space,
        *_marks(document),
        *tags,
    ]
    return output.plain(" · ".join(word for word in words if word))


def headline(document: output.Document) -> str:
    """Give the headline of an entry, or how its text begins."""
    text = output.text_of(document, "headline") or output.text_of(document, "content")
    flat = " ".join(output.plain(text).split())
    return flat if len(flat) <= HEADLINE_CHARS else flat[: HEADLINE_CHARS - 1] + "…"


def _marks(document: output.Document) -> list[str]:
    conflicts = len(output.list_of(document, "conflicts"))
    return [
        *(["deleted"] if document.get("deleted_at") else []),
        *([trust] if (trust := output.text_of(document, "trust")) in ("unaccepted", "untrusted") else []),
        *([output.plural(conflicts, "conflict")] if conflicts else []),
        *(["superseded"] if document.get("superseded_by") else []),
    ]


def _changes(document: output.Document) -> str:
    changed = document.get("set")
    names = sorted(changed) if isinstance(changed, dict) else []
    deleted = document.get("deleted")
    words = [
        *(["text"] if "content" in document else []),
        *names,
        *(f"+#{tag}" for tag in output.texts_of(document, "tags_added")),
        *(f"-#{tag}" for tag in output.texts_of(document, "tags_removed")),
        *(["deleted" if deleted else "restored"] if deleted is not None else []),
    ]
    return output.plain(", ".join(words))


def _who(document: output.Document) -> str:
    agent, node = (output.text_of(document, key) for key in ("agent", "node"))
    return output.plain(f"{agent}@{node}" if node else agent)


def _when(document: output.Document, key: str) -> str:
    return output.age(output.text_of(document, key))


def _indented(text: str, indent: str = "  ") -> None:
    for piece in output.plain(text).splitlines():
        output.line(f"{indent}{piece}")
