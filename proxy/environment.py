"""What the environment adds to the settings: which file they are in, where data lies, secrets."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import msgspec

from proxy.config import Config, ConfigError, UnsetError, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxy.config import Upstream


def locate(flag: Path | None, environment: Mapping[str, str]) -> Config:
    """The settings of the file a command was given, else of the one that `HOTPREFIX_CONFIG` names,
    else the defaults. Raises ConfigError."""
    name = _file(flag, environment)
    return load(Path(name)) if name else Config()


@contextmanager
def located(flag: Path | None, environment: Mapping[str, str]) -> Iterator[Config]:
    """The same; what is found to be wrong with them while they are used is told with the file's
    name too. Raises ConfigError."""
    config, name = locate(flag, environment), _file(flag, environment)
    try:
        yield config
    except ConfigError as error:
        if not name:
            raise
        raise ConfigError(f"{name}: {error}") from error


def _file(flag: Path | None, environment: Mapping[str, str]) -> Path | str | None:
    return flag or environment.get("HOTPREFIX_CONFIG")


def disk_path(config: Config, environment: Mapping[str, str]) -> Path | None:
    """The directory of the disk tier; None: it is off."""
    if config.cache.disk.path == "off":
        return None
    caches = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(config.cache.disk.path or f"{caches}/hotprefix").expanduser()


def unset(config: Config, environment: Mapping[str, str]) -> Iterator[UnsetError]:
    """An error for each setting that names a variable which is not there."""
    for where, variable in _named(config, "", ""):
        if not environment.get(variable):
            yield UnsetError(variable, where)


def complete(config: Config, environment: Mapping[str, str]) -> None:
    """Whether all variables that the settings name are there. Raises UnsetError."""
    for error in unset(config, environment):
        raise error


def _named(value: object, name: str, where: str) -> Iterator[tuple[str, str]]:
    """The settings that name a variable, each with that."""
    if isinstance(value, msgspec.Struct):
        for below in value.__struct_fields__:
            yield from _named(getattr(value, below), below, f"{where}.{below}" if where else below)
    elif isinstance(value, tuple):
        for i, one in enumerate(value):
            yield from _named(one, name, f"{where}[{i}]")
    elif isinstance(value, str) and (variable := variable_in(name, value)):
        yield where, variable


def variable_in(name: str, value: str) -> str:
    """The variable that a setting of this name and value names; empty: none."""
    match name:
        case "key" | "old_keys":
            return value.partition("env:")[2] if value.startswith("env:") else ""
        case "embedder":
            query = value.partition("#")[0].partition("?")[2]
            return parse_qs(query).get("key_env", [""])[0]
        case _:
            return value if name.endswith("_env") else ""


def credential(table: Upstream, environment: Mapping[str, str]) -> str | None:
    """What a node is sent instead of the client's credential, once all is `complete`; None:
    nothing else."""
    return environment[table.key_env] if table.key_env else None


def admin_token(config: Config, environment: Mapping[str, str]) -> str | None:
    """The admin port's credential; None: none is asked for. Raises ConfigError."""
    return _value(config.admin.token_env, environment, "admin.token_env")


def redis_password(config: Config, environment: Mapping[str, str]) -> str | None:
    """What Redis wants to hear; None: nothing, or what its URL says. Raises ConfigError."""
    return _value(config.cache.redis.password_env, environment, "cache.redis.password_env")


def judge_key(config: Config, environment: Mapping[str, str]) -> str | None:
    """The credential for the judge of answers; None: it wants none. Raises ConfigError."""
    return _value(config.semantic.judge.key_env, environment, "semantic.judge.key_env")


def peer_secret(config: Config, environment: Mapping[str, str]) -> bytes | None:
    """What the gateways of a fleet know each other by; None: flights end at this machine.

    Raises ConfigError.
    """
    peers = config.peers
    secret = _value(peers.secret_env, environment, "peers.secret_env")
    if secret is None:
        return None
    if len(secret) < _SHORTEST:
        what = f"expected at least {_SHORTEST} random characters in {peers.secret_env}"
        raise ConfigError(f"{what} - at `peers.secret_env`")
    if peers.host in ("0.0.0.0", "::", "") and not peers.advertise:
        what = (
            f"expected the name by which others reach this host, since it listens on {peers.host!r}"
        )
        raise ConfigError(f"{what} - at `peers.advertise`")
    return secret.encode("utf-8", "surrogateescape")


_SHORTEST = 16


def _value(variable: str, environment: Mapping[str, str], where: str) -> str | None:
    if not variable:
        return None
    if not (value := environment.get(variable)):
        raise UnsetError(variable, where)
    return value
