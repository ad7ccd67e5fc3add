"""Keep the long-running parts of the node running.

A part that ends by itself is done; one that fails is started again after a pause that doubles.  Nothing
here decides what a failure means: it is logged, and the other parts go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from crdt.errors import AtriumError
from node.logs import Logger, frames

SILENCE_S = 1.0
REASON_WORDS_MAX = 3
PAUSE_S_MIN = 1.0
PAUSE_S_MAX = 60.0
CALM_S = 300.0
"""A part that ran this long before it failed starts again after the shortest pause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One long-running part.  `run` may be called again after it raised."""

    name: str
    run: Callable[[], Awaitable[None]]


async def supervise(service: Service, log: Logger, *, pause_s_min: float = PAUSE_S_MIN) -> None:
    """Run a service until it ends by itself or the task is cancelled."""
    loop = asyncio.get_running_loop()
    pause_s = pause_s_min
    while True:
        started = loop.time()
        try:
            await service.run()
        except Exception as error:
            if loop.time() - started > CALM_S:
                pause_s = pause_s_min
            log.error("service_failed", service=service.name, pause_s=pause_s, **describe(error))  # noqa: TRY400
        else:
            return
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, PAUSE_S_MAX)


class LoopFailures:
    """Logs what the event loop has nobody to raise to, each message at most once a second.

    Without files to open, a listener fails a hundred times a second, and each stack that is written costs
    more than all else that the node does.
    """

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._silent_until_s: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        """Take a failure as `set_exception_handler` gives it; behind its first words may be arguments."""
        reason = " ".join(str(context.get("message", "")).split()[:REASON_WORDS_MAX])
        if loop.time() < self._silent_until_s.get(reason, 0.0):
            return
        self._silent_until_s[reason] = loop.time() + SILENCE_S
        error = context.get("exception")
        self._log.error(
            "loop_failed", reason=reason, **describe(error) if isinstance(error, Exception) else {}
        )


def describe(error: BaseException) -> dict[str, object]:
    """Give the log fields of an error: our own say their code, foreign ones their frames."""
    if isinstance(error, AtriumError):
        return {"code": error.code}
    return {"error": type(error).__name__, "frames": frames(error)}
