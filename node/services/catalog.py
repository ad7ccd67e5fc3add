"""Every use-case by name: what it takes, whether it writes, and where it is.

One table serves the unix socket, the in-process command and, later, REST and MCP.  Modules are named as
text and imported when called, so that a search never pays for a capture.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from node.paths import system_error
from node.services import backup_requests, memory_requests, requests, space_requests, statement_requests

if TYPE_CHECKING:
    from node.composition import Local

Document = dict[str, object]
Progress = Callable[[Document], None]
"""Takes `{"phase", "done", "total", "unit", …}`; called at most a few times a second."""
Handler = Callable[["Local", requests.Request, Progress], Document]
LaneName = Literal["read", "write", "commit"]
"""Where a node runs a use-case: reads side by side; writes of archive and index one after the other; commits
of records side by side, so that one flush of the disk serves many, and never behind a long write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCase:
    """One thing that a node can be asked.  A handler raises `AtriumError` and never prints."""

    name: str
    request: type[requests.Request]
    lane: LaneName
    module: str
    function: str = "handle"

    @property
    def writes(self) -> bool:
        """Tell whether it needs a state directory that can be written."""
        return self.lane != "read"

    def load(self) -> Handler:
        """Import the module and return its function."""
        handler: Handler = getattr(importlib.import_module(self.module), self.function)
        return handler

    def needs_to_write(self, request: requests.Request) -> bool:
        """Tell whether a request changes anything; a dry run doesn't."""
        return self.writes and not request.is_dry_run

    def call(self, local: Local, request: requests.Request, progress: Progress) -> Document:
        """Handle a request; a fault of the system that no handler expected becomes an error of ours."""
        from crdt.sqlite import sqlite_faults

        try:
            with sqlite_faults("a database of the state directory"):
                return self.load()(local, request, progress)
        except OSError as error:
            raise system_error(error) from error


def _case(
    name: str, request: type[requests.Request], lane: LaneName = "read", *, at: str | None = None
) -> UseCase:
    """Name a use-case by its module, which has one `handle`, or as `module.function` where it has several.

    `at` says where it is, as `module.function`, when its name doesn't.
    """
    module, _, function = (at or name).replace("-", "_").partition(".")
    return UseCase(
        name=name,
        request=request,
        lane=lane,
        module=f"node.services.{module}",
        function=function or "handle",
    )


USE_CASES: dict[str, UseCase] = {
    case.name: case
    for case in (
        _case("search", requests.SearchRequest),
        _case("context", requests.ContextRequest),
        _case("show", requests.ShowRequest),
        _case("status", requests.StatusRequest),
        _case("doctor", requests.DoctorRequest),
        _case("gaps", requests.GapsRequest),
        _case("capture", requests.CaptureRequest, "write"),
        _case("ingest", requests.IngestRequest, "write"),
        _case("ingest-notes", requests.NotesRequest, "write"),
        _case("export", requests.ExportRequest),
        _case("redact", requests.RedactRequest, "write"),
        _case("rebuild", requests.RebuildRequest, "write"),
        _case("prepare-context", requests.PrepareRequest, "write"),
        _case("identity", space_requests.IdentityRequest),
        _case("identity.backup", space_requests.IdentityBackup, "write"),
        _case("identity.restore", space_requests.IdentityRestore, "write"),
        _case("identity.revoke", space_requests.IdentityRevoke, "write"),
        _case("spaces", space_requests.SpacesRequest),
        _case("spaces.members", space_requests.SpaceMembers),
        _case("spaces.private", space_requests.PrivateRequest),
        _case("spaces.create", space_requests.SpaceCreate, "commit"),
        _case("spaces.add-member", space_requests.MemberAdd, "commit"),
        _case("spaces.remove-member", space_requests.MemberRemove, "commit"),
        _case("projects.list", space_requests.ProjectsRequest, at="projects.overview"),
        _case("projects.show", space_requests.ProjectShow),
        _case("projects.create", space_requests.ProjectCreate, "commit"),
        _case("projects.add-members", space_requests.ProjectMembers, "commit"),
        _case("projects.remove-members", space_requests.ProjectMembers, "commit"),
        _case("memory.add", memory_requests.MemoryAdd, "commit"),
        _case("memory.get", memory_requests.MemoryGet, at="memory_reading.get"),
        _case("memory.list", memory_requests.MemoryList, at="memory_reading.list_"),
        _case("memory.edit", memory_requests.MemoryEdit, "commit"),
        _case("memory.tag", memory_requests.MemoryTag, "commit"),
        _case("memory.delete", memory_requests.MemoryDelete, "commit"),
        _case("memory.restore", memory_requests.MemoryRestore, "commit"),
        _case("memory.history", memory_requests.MemoryHistory, at="memory_reading.history"),
        _case("memory.revert", memory_requests.MemoryRevert, "commit"),
        _case("memory.conflicts", memory_requests.MemoryConflicts, at="memory_reading.conflicts"),
        _case("memory.accept", memory_requests.MemoryAccept, "write"),
        _case("memory.export", memory_requests.MemoryExport, at="memory_export.handle"),
        _case("memory.import", memory_requests.MemoryImport, "commit", at="memory_import.handle"),
        _case("decision.add", memory_requests.DecisionAdd, "commit"),
        _case("decision.list", memory_requests.DecisionList, at="decision.list_"),
        _case("remember", statement_requests.RememberRequest, "commit"),
        _case("recall", statement_requests.RecallRequest),
        _case("file-context", statement_requests.FileContextRequest),
        _case("ingest-synthesis", statement_requests.IngestSynthesisRequest, "commit"),
        _case("backup", backup_requests.BackupRequest),
        _case("verify", backup_requests.VerifyRequest),
        _case("compact", backup_requests.CompactRequest),
        _case("feeds.overview", backup_requests.FeedsRequest),
        _case("feeds.export", backup_requests.FeedsExportRequest),
        _case("feeds.import", backup_requests.FeedsImportRequest, "write", at="feeds.import_"),
    )
}
