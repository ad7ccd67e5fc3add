"""Run a use-case in this process, for a machine where no node runs.

A reader takes no lock.  A writer waits for the state's lock; when the process that has it turns out to be a
node on its way up, that node is asked instead.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing

import msgspec

from cli import output
from cli.client import Document, Progress, ask, connect
from crdt.errors import BadInput, StateBusy
from node.composition import open_local
from node.config import NodeConfig, load
from node.lock import WAIT_S, StateLock
from node.services.catalog import USE_CASES, UseCase
from node.services.requests import Request
from node.state import refuse_doubtful

LOOK_S = 0.5
"""How often a waiting writer looks whether a node has come up."""


def run_here(name: str, arguments: Mapping[str, object], progress: Progress | None) -> Document:
    """Run a use-case on the state directory itself."""
    case = USE_CASES[name]
    request = read_request(case, arguments)
    config = load()
    report = progress or _ignore
    if not case.needs_to_write(request):
        return _handle(config, case, request, report)
    refuse_doubtful(config.state)
    config.paths.create()
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            lock = StateLock.acquire(config.paths.lock, f"atrium {name}", timeout_s=LOOK_S)
        except StateBusy:
            connection = connect(config.paths)
            if connection is not None:
                return ask(connection, name, arguments, progress)
            if time.monotonic() >= deadline:
                raise
            continue
        with lock:
            return _handle(config, case, request, report)


def read_request(case: UseCase, arguments: Mapping[str, object]) -> Request:
    """Make the request of a use-case; raises `BadInput` that names the field."""
    try:
        return msgspec.convert(dict(arguments), case.request)
    except msgspec.ValidationError as error:
        raise BadInput(f"{case.name}: {error}") from error


def _handle(config: NodeConfig, case: UseCase, request: Request, report: Progress) -> Document:
    with closing(open_local(config, writable=case.needs_to_write(request))) as local:
        local.tell_lost_key = _tell_lost_key
        return case.call(local, request, report)


def _tell_lost_key() -> None:
    output.note("identity.key is missing: this node goes on under a new key; see `atrium doctor`")


def _ignore(_document: Document) -> None:
    """Take a sign of progress that nobody wants to see."""
