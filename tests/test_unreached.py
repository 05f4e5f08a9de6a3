"""What is told where no connection to a node comes about: what is wrong, and never its host."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from proxy.adapters.http.node import Http
from proxy.adapters.http.unreached import unreached
from proxy.config import Upstream
from proxy.core.message import Call
from proxy.ports import UpstreamError
from proxy.quantity import Duration

if TYPE_CHECKING:
    from collections.abc import Callable

GET = Call("GET", "/v1/models", "", (), None)
KEY = ConnectionKey("secret.example", 443, True, True, None, None, None)


async def told(url: str) -> UpstreamError:
    http = Http(Upstream(name="n", url=url, connect_timeout=Duration(5)))
    try:
        with pytest.raises(UpstreamError) as raised:
            await http.send(GET)
    finally:
        await http.aclose()
    assert raised.value.kind == "connect"
    return raised.value


async def test_a_port_at_which_nobody_listens(unused_tcp_port_factory: Callable[[], int]) -> None:
    error = await told(f"http://127.0.0.1:{unused_tcp_port_factory()}/v1")

    assert str(error) == "upstream n cannot be reached: connection refused"
    assert error.why == "connection refused"


async def test_https_before_a_node_that_speaks_plain_http() -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(play, "127.0.0.1", 0) as server:
        error = await told(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")

    assert error.why == "it does not speak TLS"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            aiohttp.ClientConnectorCertificateError(KEY, ssl.SSLCertVerificationError("self")),
            "its certificate is not accepted",
        ),
        (aiohttp.ClientConnectorSSLError(KEY, OSError("x")), "it does not speak TLS"),
        (
            aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "secret.example")),
            "its host's name is not known",
        ),
        (aiohttp.ClientConnectorError(KEY, OSError(113, "secret")), "no route to host"),
        (aiohttp.ClientConnectorError(KEY, OSError("secret")), "no connection"),
        (aiohttp.ConnectionTimeoutError("secret"), "no connection within connect_timeout"),
    ],
)
def test_what_is_told_names_no_host(
    error: aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError, why: str
) -> None:
    assert unreached(error) == why
