"""Which embedder a setting names."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from semantic.embed import trial
from semantic.embed.e5 import E5
from semantic.embed.extra import missing
from semantic.embed.threaded import Threaded
from semantic.embed.transformers import Transformer
from semantic.embed.use import Use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from semantic.embed.port import Embedder
    from semantic.embed.threaded import Model

REMOTE: Final = ("http:", "https:")
"""What an embedder behind a URL is named with."""
_KNOWN: Final = "use, e5, sentence-transformers:<model or path>, http:<embeddings URL>"


async def embedder(spec: str, environ: Mapping[str, str]) -> Embedder:
    """The embedder, loaded and tried.

    Raises: ValueError where the setting is wrong, or an extra is missing; EmbedderError where it
    does not work, which may change for one behind a URL.
    """
    if spec.startswith(REMOTE):
        return await _remote(spec, environ)
    if said := missing(spec):
        raise ValueError(said)
    try:
        loaded = Threaded(await asyncio.to_thread(_model(spec)))
    except ImportError as error:  # of what an extra needs itself
        raise ValueError(f"{spec} cannot be loaded: {error}") from error
    try:
        await trial.lives(loaded.embed)
    except BaseException:
        await loaded.aclose()
        raise
    return loaded


async def _remote(spec: str, environ: Mapping[str, str]) -> Embedder:
    from semantic.embed.remote import Remote, place  # with aiohttp, which others do without

    nested = spec.startswith(("http:http:", "http:https:"))
    remote = Remote(place(spec.removeprefix("http:") if nested else spec, environ))
    try:
        await remote.open()
    except BaseException:
        await remote.aclose()
        raise
    return remote


def _model(spec: str) -> Callable[[], Model]:
    """What loads it."""
    kind, _, name = spec.partition(":")
    match kind, name:
        case (("use" | ""), ""):
            return Use
        case "e5", "":
            return E5
        case "sentence-transformers", str() if name:
            return lambda: Transformer(name)
        case _:
            raise ValueError(f"expected an embedder ({_KNOWN}), found {spec!r}")
