"""Where Redis is and how it is reached, read from a URL."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

import msgspec

from proxy.config import ConfigError

Kind: TypeAlias = Literal["server", "sentinel", "cluster"]

_SCHEMES: Final[dict[str, tuple[Kind, bool]]] = {
    "redis": ("server", False),
    "rediss": ("server", True),
    "unix": ("server", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
_PORTS: Final[dict[Kind, int]] = {"server": 6379, "sentinel": 26379, "cluster": 6379}
_HOST: Final = re.compile(r"(?:\[([0-9A-Fa-f:.%]+)\]|([^\[\]:/?#\s]+))(?::(\d{1,5}))?")
_MASK: Final = "***"


class Address(NamedTuple):
    """A server; without a port `host` is the path of a Unix socket."""

    host: str
    port: int = 0


class Target(msgspec.Struct, frozen=True):
    """What a URL says."""

    kind: Kind
    addresses: tuple[Address, ...]
    """The server, the sentinels, or some of a cluster's servers."""
    service: str = ""
    """What the sentinels call the master."""
    db: int = 0
    tls: bool = False
    username: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"<Target {self.kind} {len(self.addresses)} addresses>"


def parse(url: str, username: str = "", password: str | None = None) -> Target:
    """The target of a URL; `username` and `password` go before what is written in it.

    Raises: ConfigError, which shows no password.
    """
    scheme, found, rest = url.partition("://")
    if not found or scheme not in _SCHEMES:
        raise _wrong(url, "one of " + ", ".join(f"{name}://" for name in _SCHEMES))
    kind, tls = _SCHEMES[scheme]
    credentials, _, rest = rest.rpartition("@")
    user, _, secret = credentials.partition(":")
    if scheme == "unix":
        addresses, path = _socket(url, rest)
    else:
        hosts, _, path = rest.partition("/")
        addresses = tuple(_address(url, host, _PORTS[kind]) for host in hosts.split(","))
    if kind == "server" and len(addresses) > 1:
        raise _wrong(url, "one server; several are redis+sentinel:// or redis+cluster://")
    service, db = _database(url, kind, path)
    return Target(
        kind=kind,
        addresses=addresses,
        service=service,
        db=db,
        tls=tls,
        username=username or unquote(user),
        password=unquote(secret) if password is None else password,
    )


def masked(url: str) -> str:
    """The URL as it may be shown, whatever is wrong with it: without its password."""
    scheme, found, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    if at:
        # Without a colon it is a user's name, or a password at the wrong place.
        user, colon, _ = credentials.partition(":")
        place = f"{user}:{_MASK}@{place}" if colon else f"{_MASK}@{place}"
    return scheme + found + re.sub(r"(pass[a-z]*=)[^&#]*", rf"\1{_MASK}", place or rest)


def _socket(url: str, rest: str) -> tuple[tuple[Address, ...], str]:
    path, _, query = rest.partition("?")
    if not path.startswith("/"):
        raise _wrong(url, "unix:///path/to/socket")
    if query and not query.startswith("db="):
        raise _wrong(url, "no option but ?db=")
    return (Address(unquote(path)),), query.removeprefix("db=")


def _address(url: str, text: str, port: int) -> Address:
    found = _HOST.fullmatch(text)
    if found is None or int(found[3] or port) not in range(1, 65536):
        raise _wrong(url, "host:port")
    return Address(found[1] or unquote(found[2]), int(found[3] or port))


def _database(url: str, kind: Kind, path: str) -> tuple[str, int]:
    service, _, db = path.partition("/") if kind == "sentinel" else ("", "", path)
    if kind == "sentinel" and not service:
        raise _wrong(url, "the master's name after the sentinels: host:port,host:port/NAME")
    if db and not (db.isascii() and db.isdigit()):
        raise _wrong(url, "a database's number, and no options, at the end")
    if kind == "cluster" and int(db or 0):
        raise _wrong(url, "no database: a cluster has only one")
    return unquote(service), int(db or 0)


def _wrong(url: str, expected: str) -> ConfigError:
    return ConfigError(f"expected {expected}, got {masked(url)!r} - at `cache.redis.url`")
