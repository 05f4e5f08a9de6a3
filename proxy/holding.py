"""A body that is held until it is whole, unless it is too large for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from proxy.ports import Body


async def held(body: Body, limit: int, *, blank: bool = False) -> bytes | Body:
    """A body, held until it is whole: half of JSON is of use to nobody, an error is.

    One of more than `limit` bytes goes on as it arrives; and with `blank`, what an upstream sends
    to keep a slow answer's connection alive.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in body:
        if blank and not parts and chunk.isspace():
            return Resumed(chunk, body)
        parts.append(chunk)
        size += len(chunk)
        if size > limit:
            return Resumed(b"".join(parts), body)
    return b"".join(parts)


class Resumed:
    """A body of which the first chunk was taken already."""

    def __init__(self, first: bytes, body: Body) -> None:
        self._first = first
        self._body = body
        self._chunks = body.__aiter__()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return await self._chunks.__anext__()

    async def aclose(self) -> None:
        await self._body.aclose()
