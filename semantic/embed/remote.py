"""An embedder behind the OpenAI embeddings API, somewhere else."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import aiohttp
import msgspec
import numpy as np

from semantic.embed import trial
from semantic.embed.distinct import Distinct
from semantic.embed.port import EmbedderError
from semantic.embed.script import readable
from semantic.vector import unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from semantic.embed.port import Embedder
    from semantic.vector import Vectors

KEY: Final = "HOTPREFIX_EMBEDDINGS_KEY"
"""The variable with the credential, unless the URL names another one."""
_MOST: Final = 1 << 26
"""Bytes of an answer."""
_BYTES: Final = 3
"""Of a Han letter in UTF-8: a tokenizer that falls back to bytes took so many for each."""


class Place(NamedTuple):
    """Where the embedder is, and what it is asked for."""

    url: str
    model: str
    dimensions: int
    """0: as many as the model has."""
    key: str

    @property
    def shown(self) -> str:
        """The address for who reads of it: without credentials and query."""
        return _shown(self.url)


def place(url: str, environ: Mapping[str, str]) -> Place:
    """`http(s)://HOST/v1/embeddings?model=NAME`, with `&dimensions=N` and `&key_env=VARIABLE`
    where wanted; the rest of the query is sent along. Raises: ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected the URL of an embeddings API, found {_shown(url)}")
    query = dict(parse_qsl(parts.query))
    model = query.pop("model", "")
    if not model:
        raise ValueError("expected the model's name in the URL of the embedder: ?model=NAME")
    dimensions = query.pop("dimensions", "0")
    if not dimensions.isdecimal():
        raise ValueError(f"expected a number of dimensions, found {dimensions!r}")
    variable = query.pop("key_env", "")
    key = environ.get(variable or KEY, "")
    if variable and not key:
        raise ValueError(f"the variable {variable} is not set")
    rest = urlunsplit(parts._replace(query=urlencode(query), fragment=""))
    return Place(rest, model, int(dimensions), key)


def _shown(url: str) -> str:
    # By hand: what is told most is what no URL can be made of. A password may have anything in it.
    return re.sub("(?<=//).*@", "", re.split("[?#]", url)[0])


class _Item(msgspec.Struct):
    embedding: list[float] | str
    index: int | None = None


class _Reply(msgspec.Struct):
    data: list[_Item]


_DECODER: Final = msgspec.json.Decoder(_Reply)


class Remote:
    """Of what is behind it, it knows what a trial has shown."""

    def __init__(self, where: Place, *, timeout: float = 5.0) -> None:
        """`timeout`: seconds for an answer."""
        self._where = where
        headers = {"authorization": f"Bearer {where.key}"} if where.key else {}
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=aiohttp.ClientTimeout(total=timeout)
        )
        self.dimension = where.dimensions
        self.languages: frozenset[str] | None = None
        self.batches = False
        self._longest = 0
        self._distinct = Distinct()

    def __repr__(self) -> str:
        return f"<Remote {self.tag}>"

    @property
    def tag(self) -> str:
        """The revision is the address: what is behind it does not say when it changes."""
        address = hashlib.sha256(self._where.url.encode()).hexdigest()[:8]
        return f"http:{self._where.model}@{address}:{self.dimension}"

    async def open(self) -> None:
        """Find out what it can do. Raises: EmbedderError, also where it answers now, but not with
        what a text could be compared by."""
        with self._named():
            await trial.lives(self._embedded)
            chinese = await trial.reads_chinese(self._embedded)
            self.languages = None if chinese else frozenset({"en"})
            self.batches = await trial.keeps_in_batches(self._embedded)
            self._longest = await trial.longest(self._embedded)

    def takes(self, text: str) -> bool:
        return readable(text, self.languages)

    def whole(self, text: str) -> bool:
        """As far as the length says: what its tokenizer does not know, it does not tell."""
        size = len(text.encode("utf-8", "surrogatepass"))
        return len(text) <= self._longest and size <= self._longest * _BYTES

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises: EmbedderError, which says where it is and never has a text in it."""
        with self._named():
            rows = await self._embedded(texts)
            self._distinct.check(texts, rows)
            return rows

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except EmbedderError as error:
            raise EmbedderError(f"{self._where.shown} {error}") from error

    def aside(self) -> Embedder:
        return self

    async def _embedded(self, texts: Sequence[str]) -> Vectors:
        rows = _rows(await self._post(texts), len(texts))
        # The first answer says how long its vectors are.
        self.dimension = self.dimension or len(rows[0])
        try:
            with np.errstate(over="ignore"):  # what is too great is refused as infinite
                return unit(np.array(rows, dtype=np.float32), self.dimension)
        except ValueError as error:
            raise EmbedderError(f"gave vectors that are none: {error}") from error

    async def aclose(self) -> None:
        await self._session.close()

    async def _post(self, texts: Sequence[str]) -> bytes:
        where = self._where
        body: dict[str, object] = {"model": where.model, "input": list(texts)}
        body["encoding_format"] = "float"
        if where.dimensions:
            body["dimensions"] = where.dimensions
        try:
            # A redirect would take texts and credential to where the operator did not send them.
            async with self._session.post(where.url, json=body, allow_redirects=False) as answer:
                if answer.status != 200:
                    raise EmbedderError(f"answered {answer.status}")
                content = bytearray()
                async for chunk in answer.content.iter_any():
                    content += chunk
                    if len(content) > _MOST:
                        raise EmbedderError(f"answered more than {_MOST} bytes")
                return bytes(content)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise EmbedderError(f"failed: {type(error).__name__}") from error


def _rows(content: bytes, count: int) -> list[Sequence[float]]:
    """The vectors in the order of their texts, whatever order they came in."""
    try:
        items = _DECODER.decode(content).data
        if any(item.index is not None for item in items):
            items.sort(key=lambda item: -1 if item.index is None else item.index)
            if [item.index for item in items] != list(range(count)):
                raise EmbedderError("gave embeddings that do not belong to the texts")
        if len(items) != count:
            raise EmbedderError(f"gave {len(items)} embeddings for {count} texts")
        return [_numbers(item.embedding) for item in items]
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError) as error:
        raise EmbedderError("gave an answer that is not one of an embeddings API") from error


def _numbers(embedding: list[float] | str) -> Sequence[float]:
    if isinstance(embedding, str):
        numbers: list[float] = np.frombuffer(base64.b64decode(embedding), "<f4").tolist()
        return numbers
    return embedding
