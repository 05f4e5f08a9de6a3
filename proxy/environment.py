"""What the environment adds to the settings: which file they are in, where data lies, secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proxy.config import Config, ConfigError, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.config import Upstream


def locate(flag: Path | None, environment: Mapping[str, str]) -> Config:
    """The settings of the file a command was given, else of the one that `HOTPREFIX_CONFIG` names,
    else the defaults. Raises ConfigError."""
    name = flag or environment.get("HOTPREFIX_CONFIG")
    return load(Path(name)) if name else Config()


def disk_path(config: Config, environment: Mapping[str, str]) -> Path | None:
    """The directory of the disk tier; None: it is off."""
    if config.cache.disk.path == "off":
        return None
    caches = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(config.cache.disk.path or f"{caches}/hotprefix").expanduser()


def credential(table: Upstream, environment: Mapping[str, str]) -> str | None:
    """What a node is sent instead of the client's credential; None: nothing else.

    Raises ConfigError.
    """
    if not table.key_env:
        return None
    if not (value := environment.get(table.key_env)):
        raise ConfigError(f"the variable {table.key_env} is not set - at upstream {table.name!r}")
    return value


def admin_token(config: Config, environment: Mapping[str, str]) -> str | None:
    """The admin port's credential; None: none is asked for. Raises ConfigError."""
    if not (name := config.admin.token_env):
        return None
    if not (value := environment.get(name)):
        raise ConfigError(f"the variable {name} is not set - at `$.admin.token_env`")
    return value
