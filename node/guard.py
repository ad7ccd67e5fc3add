"""Keep web pages away from the local listener.

A page in a browser on this machine can reach 127.0.0.1, under a name of its own if it likes.  What it can't
do is choose the Host and Origin that its browser sends.  The guard comes first in the chain, before any
route is looked up, and says nothing but a status.  It is no authentication.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a request says of itself; None is a header that is absent."""

    method: str
    host: str | None
    origin: str | None
    fetch_site: str | None
    content_type: str


def refusal(claims: Claims, port: int) -> int | None:
    """Give the status with which a request to our `port` is refused, None when it may pass.

    Host and Origin are compared as they are, letter for letter; Origin `null` is a sandboxed page.
    """
    names = tuple(f"{host}:{port}" for host in HOSTS)
    if claims.host not in names:
        return 421
    if claims.origin is not None and claims.origin not in tuple(f"http://{name}" for name in names):
        return 403
    if claims.fetch_site == "cross-site":
        return 403
    if claims.method == "POST" and claims.content_type != "application/json":
        return 415
    return None


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let a request pass or answer it with an empty refusal."""
    status = refusal(_claims(request), _port(request))
    return await handler(request) if status is None else web.Response(status=status)


async def strip_server(_request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Take away the header that names the server's software and version."""
    response.headers.popall("Server", None)


def _claims(request: web.Request) -> Claims:
    hosts = request.headers.getall("Host", [])
    return Claims(
        method=request.method,
        host=hosts[0] if len(hosts) == 1 else None,
        origin=request.headers.get("Origin"),
        fetch_site=request.headers.get("Sec-Fetch-Site"),
        content_type=request.content_type,
    )


def _port(request: web.Request) -> int:
    name = request.transport.get_extra_info("sockname") if request.transport else None
    return int(name[1]) if isinstance(name, tuple) else -1
