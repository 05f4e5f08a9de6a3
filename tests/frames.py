"""WebSocket frames of the mock upstream (RFC 6455), written by hand so that it may misbehave."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept(key: str) -> str:
    """The answer to a handshake's `Sec-WebSocket-Key`."""
    return base64.b64encode(hashlib.sha1(key.encode() + _MAGIC).digest()).decode()


def frame(kind: int, payload: bytes) -> bytes:
    """A whole, unmasked frame, as a server sends it."""
    if len(payload) < 126:
        head = struct.pack("!BB", 0x80 | kind, len(payload))
    elif len(payload) < 65536:
        head = struct.pack("!BBH", 0x80 | kind, 126, len(payload))
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 127, len(payload))
    return head + payload


async def read(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The next frame's kind and its payload, unmasked. Fragments are not put together."""
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack("!Q", await reader.readexactly(8))
    mask = await reader.readexactly(4) if second & 0x80 else bytes(4)
    payload = await reader.readexactly(length)
    return first & 0x0F, bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
