"""The folders that the settings name, and whether they can be used."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from proxy.environment import disk_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from proxy.config import Config

_MODEL: Final = "sentence-transformers:"


def unusable(
    config: Config, environ: Mapping[str, str], access: Callable[[Path, int], bool] = os.access
) -> Iterator[str]:
    """A line for each folder that is to be kept in and could not be made or written by who asks,
    and for that of a model, if it is not there. Nothing is made: it would belong to whoever asks,
    which need not be the one who serves."""
    for where, folder in _named(config, environ):
        if why := _hindrance(folder, access):
            yield f"cannot write {folder}: {why} - at `{where}`"
    model = config.semantic.embedder.removeprefix(_MODEL)
    # Any other name is looked for at a hub.
    if config.semantic.mode != "off" and model.startswith(("/", ".")) and not Path(model).is_dir():
        yield f"cannot read {model}: it is no folder - at `semantic.embedder`"


def _named(config: Config, environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if (disk := disk_path(config, environ)) is not None:
        yield "cache.disk.path", disk
    url = urlsplit(config.cache.objects.url)
    if url.scheme == "file":
        yield "cache.objects.url", Path(unquote(url.path))


def _hindrance(folder: Path, access: Callable[[Path, int], bool]) -> str:
    """Why it could not be made or written; empty: it could."""
    try:
        there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    except OSError as error:  # a name too long, a folder that may not be looked into
        return error.strerror or type(error).__name__
    if not there.is_dir():
        return f"{there} is no folder"
    if not access(there, os.W_OK | os.X_OK):
        return f"{os.strerror(errno.EACCES)} ({there})"
    return ""
