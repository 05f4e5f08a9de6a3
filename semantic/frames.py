"""Messages as bytes on a stream: a length, big-endian, then the message."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from semantic.protocol import LARGEST, LENGTH, Framed

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Framed)


class FrameError(Exception):
    """Bytes that are no message of ours: whoever sent them speaks something else."""


def framed(message: Framed) -> bytes:
    """The bytes of a message. Raises: FrameError for one that is too large to be taken."""
    body = _encoder.encode(message)
    if len(body) > LARGEST:
        raise FrameError(f"{len(body)} bytes in one message")
    return len(body).to_bytes(LENGTH, "big") + body


async def read(stream: asyncio.StreamReader) -> Framed | None:
    """The next message; None at the stream's end. Raises: FrameError."""
    try:
        length = int.from_bytes(await stream.readexactly(LENGTH), "big")
        if length > LARGEST:
            raise FrameError(f"a message of {length} bytes")
        return _decoder.decode(await stream.readexactly(length))
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise FrameError("a message that broke off") from error
        return None
    except msgspec.MsgspecError as error:
        raise FrameError(str(error)) from error
