"""Say what is wrong with a node and what mends it, in less than two seconds.

A fresh machine is healthy: what was never set up is no fault.  `broken` is only what loses data, or makes
answers wrong or impossible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from node import checks_data, checks_identity, checks_state, checks_store
from node.checks import CODES, Checker, Look, Severity, Surroundings, run_checks
from node.services.catalog import Document, Progress
from node.services.requests import DoctorRequest, Request
from node.view import reading

if TYPE_CHECKING:
    from node.composition import Local

__all__ = ["CHECKS", "CODES", "handle"]

CHECKS: tuple[Checker, ...] = (
    checks_state.check_configuration,
    checks_state.check_sqlite,
    checks_state.check_node,
    checks_data.check_clock,
    checks_state.check_disk,
    checks_state.check_modes,
    checks_store.check_ballast,
    checks_identity.check_identity,
    checks_store.check_store,
    checks_store.check_feeds,
    checks_store.check_pending,
    checks_data.check_refresh,
    checks_data.check_archive,
    checks_store.check_segments,
    checks_data.check_retention,
    checks_data.check_index,
    checks_data.check_substrings,
    checks_data.check_notes,
    checks_state.check_aliases,
    checks_state.check_watching,
)
"""In the order in which a person reads them: the machine, what is kept, what is made of it."""


def handle(local: Local, request: Request, progress: Progress) -> Document:
    """Give `{schemaVersion, ok, checks}`; with `fix` also `fixed`, sentences, and with `report` a bundle.

    `ok` is false exactly when a check is broken.  Mending comes first, so the checks show what is left.
    """
    if not isinstance(request, DoctorRequest):
        raise TypeError(request)
    document: Document = {"schemaVersion": 1, "ok": True, "checks": []}
    if request.fix:
        from node.mend import mend

        document["fixed"] = mend(local, progress)
    with reading(local) as view:
        around = Surroundings(scan_s_max=None) if request.deep else Surroundings()
        look = Look(view, request.roots, around)
        found = run_checks(CHECKS, look)
        if request.deep:
            from node.checks_deep import verify

            found += verify(look, progress)
        if request.report:
            from node.services.report import bundle

            document["report"] = bundle(view, look.now_s)
    document["checks"] = [check.document() for check in found]
    document["ok"] = all(check.severity != Severity.BROKEN for check in found)
    return document
