"""Content codings undone: gzip, deflate, br, zstd; whole or as bytes arrive, within a limit."""

from __future__ import annotations

import sys
import zlib
from typing import Final, Protocol

import brotli
import zstandard

_ZSTD_WINDOW: Final = 8 * 1024 * 1024
"""The largest window that HTTP allows for zstd (RFC 9659)."""
_SLICE: Final = 512
"""Bytes of zstd input taken at once: they make 16 MiB at most before the limit is looked at."""
_OUTPUT: Final = 1 << 16
"""Bytes of brotli's output after which the limit is looked at: a few bytes may make gigabytes."""


class CodingError(ValueError):
    """A body that is not what its coding says, or larger than allowed."""


class Decoder(Protocol):
    """Decodes a body that arrives in pieces."""

    def feed(self, data: bytes) -> bytes:
        """What these bytes decode to. Raises CodingError."""

    def finish(self) -> bytes:
        """What is left at the end of the body. Raises CodingError if it broke off."""


def decoder(coding: str, limit: int = sys.maxsize) -> Decoder | None:
    """A decoder for a `Content-Encoding` value, or None if a coding in it is not known.

    `limit`: most bytes that each coding may give; more is a CodingError.
    """
    names = [name.strip().lower() for name in coding.split(",")]
    stages = [_stage(name, limit) for name in reversed(names) if name not in ("", "identity")]
    known = [stage for stage in stages if stage is not None]
    if len(known) < len(stages):
        return None
    return known[0] if len(known) == 1 else _Chain(known)


def decoded(coding: str, body: bytes, limit: int = sys.maxsize) -> bytes:
    """A whole body without its codings. Raises CodingError; a coding not known is one too."""
    stage = decoder(coding, limit)
    if stage is None:
        raise CodingError(f"expected gzip, deflate, br, zstd or identity, got {coding!r}")
    out = stage.feed(body) + stage.finish()
    if len(out) > limit:
        raise CodingError(f"expected at most {limit} bytes")
    return out


def _stage(name: str, limit: int) -> Decoder | None:
    match name:
        case "gzip" | "x-gzip":
            return _Zlib(limit, gzip=True)
        case "deflate":
            return _Zlib(limit, gzip=False)
        case "br":
            return _Brotli(limit)
        case "zstd":
            return _Zstd(limit)
        case _:
            return None


class _Chain:
    """Several codings, the last applied first; without any, the body itself."""

    def __init__(self, stages: list[Decoder]) -> None:
        self._stages = stages

    def feed(self, data: bytes) -> bytes:
        for stage in self._stages:
            data = stage.feed(data)
        return data

    def finish(self) -> bytes:
        left = b""
        for stage in self._stages:
            left = stage.feed(left) + stage.finish()
        return left


class _Zlib:
    """gzip of one or more members, or deflate with or without zlib's frame."""

    def __init__(self, limit: int, *, gzip: bool) -> None:
        self._left = limit
        self._gzip = gzip
        self._member: zlib._Decompress | None = None
        self._head = b""

    def feed(self, data: bytes) -> bytes:
        out = []
        try:
            while data:
                data = self._started(data)
                if self._member is None:
                    break
                piece = self._member.decompress(data, min(self._left + 1, sys.maxsize))
                self._left -= len(piece)
                if self._left < 0:
                    raise CodingError("more bytes than allowed")
                out.append(piece)
                data = self._member.unused_data if self._member.eof else b""
        except zlib.error as error:
            raise CodingError(str(error)) from error
        return b"".join(out)

    def _started(self, data: bytes) -> bytes:
        """Have a decompressor ready for `data`; the bytes to give it."""
        if self._gzip:
            if self._member is None or self._member.eof:
                self._member = zlib.decompressobj(31)
        elif self._member is None:
            self._head += data
            if len(self._head) >= 2:
                # Many servers send deflate without the frame that RFC 9110 asks for.
                framed = self._head[0] & 15 == 8 and int.from_bytes(self._head[:2]) % 31 == 0
                self._member = zlib.decompressobj(15 if framed else -15)
                data, self._head = self._head, b""
        elif self._member.eof:
            raise CodingError("bytes after the end of the body")
        return data

    def finish(self) -> bytes:
        if self._head or (self._member is not None and not self._member.eof):
            raise CodingError("the body broke off")
        return b""


class _Brotli:
    """One brotli stream."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._brotli = brotli.Decompressor()
        self._begun = False

    def feed(self, data: bytes) -> bytes:
        if not data:
            return b""
        self._begun = True
        out = []
        try:
            # Until nothing comes: it holds back what is beyond the limit of a single call.
            while piece := self._brotli.process(data, output_buffer_limit=_OUTPUT):
                out.append(piece)
                data = b""
                self._left -= len(piece)
                if self._left < 0:
                    raise CodingError("more bytes than allowed")
        except brotli.error as error:
            raise CodingError(str(error)) from error
        return b"".join(out)

    def finish(self) -> bytes:
        if self._begun and not self._brotli.is_finished():
            raise CodingError("the body broke off")
        return b""


class _Zstd:
    """zstd of one or more frames."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._zstd = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def feed(self, data: bytes) -> bytes:
        try:
            starts = range(0, len(data), _SLICE)
            return b"".join([self._slice(data[start : start + _SLICE]) for start in starts])
        except zstandard.ZstdError as error:
            raise CodingError(str(error)) from error

    def _slice(self, data: bytes) -> bytes:
        out = []
        while data:
            if self._frame is None:
                self._frame = self._zstd.decompressobj()
            out.append(piece := self._frame.decompress(data))
            self._left -= len(piece)
            if self._left < 0:
                raise CodingError("more bytes than allowed")
            data = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        return b"".join(out)

    def finish(self) -> bytes:
        if self._frame is not None:
            raise CodingError("the body broke off")
        return b""
