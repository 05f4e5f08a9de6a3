"""Why no connection to a node came about, in words that name neither its host nor a file."""

from __future__ import annotations

import os

import aiohttp


def unreached(error: aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) -> str:
    """What whoever wrote the node's `url` has to look at."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return "its certificate is not accepted"
        case aiohttp.ClientConnectorSSLError():
            return "it does not speak TLS"
        case aiohttp.ClientConnectorDNSError():
            return "its host's name is not known"
        case aiohttp.ClientConnectorError(os_error=OSError(errno=int(number))) if number > 0:
            return os.strerror(number).lower()
        case aiohttp.ConnectionTimeoutError():
            return "no connection within connect_timeout"
        case _:
            return "no connection"
