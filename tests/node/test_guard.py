"""What a page in a browser can't do, over a real TCP socket and header by header."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from node.guard import Claims, refusal
from node.ports import bind_loopback
from node.server import local_app, runner_of

PORT = 7707
GOOD_HOSTS = ("127.0.0.1:7707", "localhost:7707", "[::1]:7707")
BAD_HOSTS = (
    None,
    "",
    "127.0.0.1",
    "127.0.0.1:7708",
    "localhost",
    "LOCALHOST:7707",
    "localhost.:7707",
    "evil.example:7707",
    "127.0.0.1:7707.evil.example",
    "127.1:7707",
    "0.0.0.0:7707",
    "2130706433:7707",
    "::1:7707",
    "localhost:07707",
    "a@localhost:7707",
)
BAD_ORIGINS = (
    "null",
    "",
    "http://evil.example",
    "http://localhost",
    "https://localhost:7707",
    "http://localhost:7707/",
    "http://localhost:7707.evil.example",
    "HTTP://LOCALHOST:7707",
    "http://127.0.0.1:7708",
)


def claims(
    host: str | None = "localhost:7707",
    *,
    method: str = "GET",
    origin: str | None = None,
    fetch_site: str | None = None,
    content_type: str = "",
) -> Claims:
    return Claims(method=method, host=host, origin=origin, fetch_site=fetch_site, content_type=content_type)


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_our_own_names_pass(host: str) -> None:
    assert refusal(claims(host), PORT) is None
    assert refusal(claims(host, origin=f"http://{host}"), PORT) is None


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_any_other_host_is_misdirected(host: str | None) -> None:
    assert refusal(claims(host), PORT) == 421


@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_any_other_origin_is_forbidden(origin: str) -> None:
    assert refusal(claims(origin=origin), PORT) == 403


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", None), ("same-origin", None), ("none", None)]
)
def test_what_another_site_started_is_forbidden(site: str, status: int | None) -> None:
    assert refusal(claims(fetch_site=site), PORT) == status


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", None),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        ("application/octet-stream", 415),
    ],
)
def test_a_post_must_be_json(content_type: str, status: int | None) -> None:
    assert refusal(claims(method="POST", content_type=content_type), PORT) == status


def test_a_wrong_host_is_said_before_anything_else() -> None:
    everything_wrong = claims("evil.example", method="POST", origin="null", fetch_site="cross-site")
    assert refusal(everything_wrong, PORT) == 421


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    runner = runner_of(local_app())
    await runner.setup()
    listener = bind_loopback(0)
    try:
        await web.SockSite(runner, listener).start()
        yield int(listener.getsockname()[1])
    finally:
        await runner.cleanup()


async def asked(port: int, request: str) -> tuple[bytes, list[bytes], bytes]:
    """Send raw bytes; give the status line, the header lines without the date, and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.replace("\n", "\r\n").encode())
    await writer.drain()
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *headers = head.split(b"\r\n")
    return status, [line for line in headers if not line.startswith(b"Date:")], body


def get(path: str, port: int, more: str = "", method: str = "GET") -> str:
    return f"{method} {path} HTTP/1.1\nHost: 127.0.0.1:{port}\nConnection: close\n{more}\n"


async def test_health_says_nothing_that_is_secret() -> None:
    async with listening() as port:
        status, headers, body = await asked(port, get("/health", port))
    assert b" 200 " in status
    assert body == b'{"status": "ok", "version": "0.1.0"}'
    assert not [line for line in headers if line.lower().startswith((b"server:", b"access-control"))]


async def test_everything_else_is_one_and_the_same_empty_answer() -> None:
    async with listening() as port:
        paths = ("/", "/call/search", "/stop", "/health/", "/healthz", "/%68ealth%2f", "/mcp", "/a?b=c")
        answers = [await asked(port, get(path, port)) for path in paths]
        answers.append(await asked(port, get("/health", port, method="DELETE")))
        json_head = "Content-Type: application/json\nContent-Length: 2\n"
        answers.append(await asked(port, get("/call/search", port, json_head, "POST") + "{}"))
    assert {status for status, _, _ in answers} == {b"HTTP/1.1 404 Not Found"}
    assert {body for _, _, body in answers} == {b""}
    assert len({tuple(headers) for _, headers, _ in answers}) == 1


@pytest.mark.parametrize("path", ["/health", "/", "/call/search"])
@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Host: evil.example", 421),
        ("Host: 127.0.0.1:{port}\nHost: evil.example", 400),
        ("Host: 127.0.0.1:{port}\nOrigin: null", 403),
        ("Host: 127.0.0.1:{port}\nSec-Fetch-Site: cross-site", 403),
    ],
)
async def test_the_guard_comes_before_every_route(path: str, head: str, status: int) -> None:
    async with listening() as port:
        request = f"GET {path} HTTP/1.1\n{head.format(port=port)}\nConnection: close\n\n"
        line, headers, _ = await asked(port, request)
    assert f" {status} ".encode() in line
    assert not [name for name in headers if name.lower().startswith(b"access-control")]


async def test_a_preflight_is_answered_like_any_other_stranger() -> None:
    async with listening() as port:
        more = "Origin: http://evil.example\nAccess-Control-Request-Method: POST\n"
        status, headers, body = await asked(port, get("/health", port, more, "OPTIONS"))
    assert b" 403 " in status
    assert body == b""
    assert not [line for line in headers if line.lower().startswith(b"access-control")]


async def test_a_connection_that_never_asks_is_cut() -> None:
    async def seconds_until_cut(port: int, start: str) -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start.replace("\n", "\r\n").encode())
        began = asyncio.get_running_loop().time()
        await asyncio.wait_for(reader.read(), 12)
        writer.close()
        return asyncio.get_running_loop().time() - began

    starts = ("", "GET /health HTTP/1.1\n", "GET /health HTTP/1.1\nHost: x\nX-")
    async with listening() as port:
        waits = await asyncio.gather(*(seconds_until_cut(port, start) for start in starts))
    assert all(3 < wait < 10 for wait in waits), waits


async def test_a_broken_request_is_not_quoted_in_any_log(caplog: pytest.LogCaptureFixture) -> None:
    async with listening() as port:
        status, _, _ = await asked(port, f"GET /{'secret' * 2000} HTTP/1.1\n\n")
    assert b" 400 " in status
    assert caplog.text == ""
