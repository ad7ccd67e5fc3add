"""A world with repositories in which statements are made, as the command makes them where no node runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from crdt.operations import Operation
from crdt.projection_filters import RecordFilter
from crdt.projection_reader import RecordView
from node.composition import Local
from node.paths import StatePaths
from node.services import record_changes, records
from node.services.records import Write
from tests.node.asking import asked, items
from tests.node.filled import opened

Document = Mapping[str, object]
CRANE: dict[str, object] = {
    "title": "Crane limit",
    "summary": "The crane lifts nine tons.",
    "facts": ["crane limit is nine tons"],
    "open_ends": ["inspect the hook"],
}
NEWER: dict[str, object] = {"title": "Crane limit raised", "summary": "The crane lifts twelve tons now."}


class Yard:
    """A state directory and repositories beside it, below one home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / "state"

    @property
    def paths(self) -> StatePaths:
        return StatePaths(self.state)

    def project(self, name: str = "yard") -> Path:
        folder = self.home / "work" / name
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        return folder

    def remember(
        self, statement: Mapping[str, object], *supersedes: object, project: str = "yard", **more: object
    ) -> Document:
        return asked(
            self.state, "remember", project=str(self.project(project)), statement=dict(statement),
            supersedes=list(supersedes), **more,
        )  # fmt: skip

    def recall(self, project: str = "yard", **more: object) -> Document:
        return asked(self.state, "recall", directory=str(self.project(project)), **more)

    def titles(self, project: str = "yard", **more: object) -> list[object]:
        return [item["title"] for item in items(self.recall(project, **more), "items")]

    @contextmanager
    def writing(self) -> Iterator[Local]:
        with opened(self.state, writable=True) as local:
            yield local

    def delete(self, key: object) -> None:
        """Delete a record, as no use-case of statements does yet."""
        with self.writing() as local, records.changing(local) as reader:
            (view,) = reader.with_ids([str(key)])
            change: Operation | None = record_changes.deleted(view.state, "local")
            assert change is not None
            records.commit(local, [Write(space=view.space, operation=change)])

    def kept(self, kind: str = "statement") -> list[RecordView]:
        """Give the records of a type, deleted ones too."""
        wanted = RecordFilter(types=(kind,), include_deleted=True)
        with opened(self.state) as local, local.projection() as reader:
            return reader.list_records(wanted, limit=500).records


def titled(title: str, summary: str = "So it is.") -> dict[str, object]:
    return {"title": title, "summary": summary}
