"""What backup and the file exchange of feeds are asked."""

from __future__ import annotations

from node.services.requests import Request


class BackupRequest(Request, frozen=True, kw_only=True):
    """A directory to copy the state to; `with_identity` copies the node's key too."""

    path: str
    with_identity: bool = False


class VerifyRequest(Request, frozen=True, kw_only=True):
    """Check everything canonical; `every_signature` verifies each one instead of each chain's last."""

    every_signature: bool = False


class CompactRequest(Request, frozen=True, kw_only=True):
    """Tell what could be dropped of what is older than some days."""

    older_than_days: int = 90

    @property
    def is_dry_run(self) -> bool:
        """Say that nothing is changed."""
        return True


class FeedsRequest(Request, frozen=True, kw_only=True):
    """Tell which feeds are here."""


class FeedsExportRequest(Request, frozen=True, kw_only=True):
    """A file to write feeds to; `spaces` are labels or ids, all shared ones where there are none."""

    path: str
    spaces: tuple[str, ...] = ()
    with_archive: bool = True


class FeedsImportRequest(Request, frozen=True, kw_only=True):
    """A file to take feeds from."""

    path: str
