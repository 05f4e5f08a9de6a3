"""Asks a node for its health: a connection of its own, and any answer below 500 will do."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from errno import ECONNREFUSED
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from proxy.config import Upstream
    from proxy.core.health import Sign

PATH: Final = "/health"
"""Where vLLM, SGLang and llama.cpp tell; a 404 is an answer too."""
_TIMEOUT: Final = 0.5
_REFUSED: Final = f"[Errno {ECONNREFUSED}]"
"""asyncio makes one error of those of several addresses, and keeps their texts alone."""


class Probe:
    """Of one node."""

    def __init__(self, settings: Upstream) -> None:
        url = urlsplit(settings.url)
        self._host, secure = url.hostname or "", url.scheme == "https"
        self._port = url.port or (443 if secure else 80)
        self._tls = _context(settings.verify_tls) if secure else None
        path = settings.probe if settings.probe.startswith("/") else PATH
        self._request = (
            f"GET {path} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\n"
            "Accept: */*\r\nConnection: close\r\n\r\n"
        ).encode()

    async def __call__(self) -> Sign:
        """What it answered. Whoever refuses us, or cannot be found, is not silent."""
        try:
            async with asyncio.timeout(_TIMEOUT):
                return "alive" if await self._asked() else "unwell"
        except TimeoutError:
            return "silent"
        except OSError as error:
            return "refused" if _REFUSED in str(error) else "unwell"
        except (asyncio.LimitOverrunError, ValueError):
            return "unwell"

    async def _asked(self) -> bool:
        reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        try:
            writer.write(self._request)
            line = await reader.readline()
            version, _, status = line.partition(b" ")
            return version.startswith(b"HTTP/1.") and 200 <= int(status[:3]) < 500
        finally:
            writer.close()
            with suppress(OSError):  # nobody waits for the other side's goodbye
                writer.transport.abort()


def _context(verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def probed(settings: Upstream) -> bool:
    """Whether this node is probed: `auto` leaves providers alone, who are asked by https."""
    return settings.probe != "" and (
        settings.probe != "auto" or settings.url.lower().startswith("http://")
    )
