"""Listening addresses: held by the parent, shared by the workers."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def reserved(*addresses: tuple[str, int]) -> Iterator[list[int]]:
    """The addresses' ports, held while workers come and go; 0 becomes a free one.

    Raises: OSError where another program has one.
    """
    with ExitStack() as held:
        ports = []
        for host, port in addresses:
            if port:  # by SO_REUSEPORT alone two proxies would share a port without a word
                _bound(host, port, shared=False).close()
            sock = held.enter_context(_bound(host, port, shared=True))
            ports.append(int(sock.getsockname()[1]))
        yield ports


def listening(host: str, port: int) -> socket.socket:
    """A socket of this worker at an address that others listen at too. Raises: OSError."""
    sock = _bound(host, port, shared=True)
    sock.setblocking(False)
    return sock


def _bound(host: str, port: int, *, shared: bool) -> socket.socket:
    family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(address)
    except OSError as error:
        sock.close()
        told = f"cannot listen on {host}:{port}: {error.strerror}"
        if error.errno == errno.EADDRINUSE:
            told += "; another port is set as `port` of its table: [server], [admin] or [peers]"
        raise OSError(error.errno, told) from error
    return sock
