"""A place for objects: what is there, written only over what was seen there."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    GenericError,
    NotSupportedError,
    PreconditionError,
)
from obstore.store import from_url

from proxy.config import ConfigError
from proxy.core import wire
from proxy.mistake import shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from obstore import ObjectMeta
    from obstore.store import ObjectStore

FAILURES: Final = (BaseError, OSError, ValueError, TimeoutError)
"""All that may come out of a place; FileNotFoundError, where that is not an answer."""
_URL: Final = re.compile(r"(?:s3|gs|az)://[^/?#]+(?:/[^?#]*)?|file:///[^?#]+|memory:///")
_PATIENCE: Final = timedelta(seconds=30)
_CONNECTING: Final = timedelta(seconds=5)
_RETRIES: Final = 2
_NOTE: Final = 1024


def checked(url: str) -> str:
    """The address, if it may be one. Raises: ConfigError."""
    if not _URL.fullmatch(url):
        expected = "expected s3://bucket/path, gs://, az:// or file:///path"
        raise ConfigError(f"{expected}, got {shown(url)} - at `cache.objects.url`")
    return url


class Seen(NamedTuple):
    """What was there: its head, if it is one of ours, and which version of it that is."""

    head: wire.Header | None
    version: dict[str, str]


class Place:
    """The client is made when it is first needed: it must not be taken through a fork. All of it
    raises what is in FAILURES."""

    def __init__(self, url: str) -> None:
        self._url = checked(url)
        self._client: ObjectStore | None = None

    def __repr__(self) -> str:
        return f"<Place {self._url.partition(':')[0]}>"

    async def read(self, name: str) -> bytes | None:
        """The whole object; None: it is not there, or far too large."""
        try:
            answer = await obstore.get_async(self._store(), name)
            if answer.meta["size"] > wire.LARGEST:
                return None
            return bytes(await answer.bytes_async())
        except FileNotFoundError:
            return None

    async def note(self, name: str) -> tuple[bytes, Seen]:
        """A few bytes that lie beside the objects; none if they are not there, or are many."""
        try:
            answer = await obstore.get_async(self._store(), name)
            small = answer.meta["size"] <= _NOTE
            return bytes(await answer.bytes_async()) if small else b"", _seen(answer.meta, b"")
        except FileNotFoundError:
            return b"", Seen(None, {})

    async def see(self, name: str) -> Seen:
        """What is there now."""
        try:
            first = (0, wire.HEAD)
            answer = await obstore.get_async(self._store(), name, options={"range": first})
            return _seen(answer.meta, bytes(await answer.bytes_async()))
        except FileNotFoundError:
            return Seen(None, {})
        except GenericError:
            meta = await obstore.head_async(self._store(), name)
            if meta["size"]:
                raise
            return _seen(meta, b"")  # of nothing, no range can be read

    async def write(self, name: str, data: bytes, seen: Seen) -> bool:
        """Write it; False: somebody else has, since it was seen. A folder cannot tell that of
        something that was there already: the last one stays."""
        mode: Any = seen.version or "create"
        try:
            try:
                await obstore.put_async(self._store(), name, data, mode=mode, use_multipart=False)
            except (NotSupportedError, NotImplementedError):
                await obstore.put_async(self._store(), name, data, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    async def delete(self, name: str) -> bool:
        """Delete it; whether it was there."""
        try:
            await obstore.head_async(self._store(), name)
            await obstore.delete_async(self._store(), name)
        except FileNotFoundError:
            return False
        return True

    async def names(self, prefix: str, before: float) -> AsyncIterator[list[str]]:
        """The names below `prefix` that were written before then (unix seconds), in pieces."""
        async for several in obstore.list(self._store(), prefix=prefix):
            yield [one["path"] for one in several if one["last_modified"].timestamp() < before]

    def _store(self) -> ObjectStore:
        if self._client is None:
            self._client = _client(self._url)
        return self._client


def _seen(meta: ObjectMeta, data: bytes) -> Seen:
    known = {"e_tag": meta["e_tag"], "version": meta["version"]}
    return Seen(wire.header(data), {at: value for at, value in known.items() if value})


def _client(url: str) -> ObjectStore:
    """Credentials, region and address are in the environment, as the providers' tools read it."""
    if url.startswith("file:"):
        return from_url(url, mkdir=True)
    if url.startswith("memory:"):
        return from_url(url)
    return from_url(
        url,
        # Without TLS only where the environment names such an address, as for a server nearby.
        client_options={
            "allow_http": True,
            "timeout": _PATIENCE,
            "connect_timeout": _CONNECTING,
        },
        retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE},
    )
