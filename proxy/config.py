"""Settings as frozen values: TOML in, an error that names the setting's path out."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?", re.IGNORECASE)
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the setting and what was expected."""


class Duration(float):
    """Seconds, written as a number or as `90s`, `5m`, `1h`, `7d`."""


class Size(int):
    """Bytes, written as a number or as `64MiB`."""


def seconds(text: str | float) -> float:
    """Seconds meant by a number or by text like `5m`. Raises ValueError for anything else."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"expected a duration like 90s or 5m, got {text!r}")
    if isinstance(text, str):
        found = _DURATION.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"expected a duration like 90s or 5m, got {text!r}")
        return float(found[1]) * _SECONDS[(found[2] or "s").lower()]
    if not 0 <= text < float("inf"):
        raise ValueError(f"expected a duration of at least 0, got {text!r}")
    return float(text)


def size(text: str | int) -> int:
    """Bytes meant by a number or by text like `64MiB`. Raises ValueError for anything else."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"expected a size like 64MiB, got {text!r}")
    return int(float(found[1]) * _BYTES[(found[2] or "b").lower()])


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table of the file: unknown settings are errors."""


Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Profile = Literal["none", "prose", "fold"]


class Server(_Table, frozen=True):
    host: str = "127.0.0.1"
    port: Port = 8080
    workers: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 1
    max_body_bytes: Size = Size(33554432)
    """A larger body is passed through as a stream and never cached."""
    max_request_bytes: Size = Size(134217728)
    """A JSON request above this is refused with 413; uploads to other endpoints have no limit."""
    max_header_bytes: Size = Size(65536)
    keepalive_timeout: Duration = Duration(75)
    drain_timeout: Duration = Duration(30)
    """How long running requests may go on after SIGTERM."""
    partition_key_env: str = ""
    """Variable with a secret that keys the tenant partition; empty: a fixed derivation."""


class Admin(_Table, frozen=True):
    host: str = "127.0.0.1"
    port: Port = 8081
    token_env: str = ""


class Log(_Table, frozen=True):
    requests: bool = True
    """One JSON line a request on standard output."""


class Upstream(_Table, frozen=True):
    name: str
    url: str
    zone: str = "local"
    models: tuple[str, ...] = ("*",)
    key_env: str = ""
    connect_timeout: Duration = Duration(5)
    first_byte_timeout: Duration = Duration(120)
    idle_timeout: Duration = Duration(600)
    """Longest silence inside an answer; 0: none."""
    total_timeout: Duration = Duration(0)
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = 1000
    ask_usage: bool = True
    """Ask for `stream_options.include_usage` on every stream, so that one entry serves all."""
    verify_tls: bool = True


class Model(_Table, frozen=True):
    name: str
    """What clients ask for."""
    target: str = ""
    """What is sent upstream; empty: the same."""
    model_version: str = ""
    template_version: str = ""


class Mask(_Table, frozen=True):
    name: str
    pattern: str


class Rule(_Table, frozen=True):
    """A lifetime for the requests that match every condition given; the first match wins."""

    ttl: Duration
    model: str = ""
    """A glob."""
    namespace: str = ""
    tag: str = ""
    text: str = ""
    """A regular expression, searched in the request's text."""


class Memory(_Table, frozen=True):
    max_bytes: Size = Size(268435456)
    ttl: Duration = Duration(300)
    memo_entries: int = 16384
    """How many request spellings are recognized by their bytes alone."""


class Disk(_Table, frozen=True):
    path: str = ""
    max_bytes: Size = Size(4294967296)


class Redis(_Table, frozen=True):
    url: Literal[""] = ""
    """Reserved: this release has no Redis tier, so only empty is accepted."""
    timeout: Duration = Duration(0.010)


class Objects(_Table, frozen=True):
    url: Literal[""] = ""
    """Reserved: this release has no object tier, so only empty is accepted."""


class Semantic(_Table, frozen=True):
    mode: Literal["off"] = "off"
    """Reserved: this release has no semantic tier, so only `off` is accepted."""
    embedder: str = ""
    min_similarity: Share = 0.0
    max_error_rate: Share = 0.01


class Routing(_Table, frozen=True):
    policy: Literal["least"] = "least"
    """The node with the fewest running requests."""


class Zone(_Table, frozen=True):
    name: str = "local"


class Cache(_Table, frozen=True):
    ttl: Duration = Duration(3600)
    max_ttl: Duration = Duration(2592000)
    jitter: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.1
    stale_while_revalidate: Duration = Duration(300)
    stale_if_error: Duration = Duration(86400)
    negative_ttl: Duration = Duration(10)
    namespace: str = ""
    normalize: Profile = "prose"
    normalize_max_bytes: Size = Size(16384)
    filler_words: tuple[str, ...] = ()
    """Words that the profile `fold` takes off the edges of a text."""
    usage_on_hit: Literal["original", "zero"] = "original"
    max_entry_bytes: Size = Size(16777216)
    finish_abandoned: bool = False
    """Let an upstream call that nobody waits for any more run to its end, to store the answer."""
    key_headers: tuple[str, ...] = (
        "openai-organization",
        "openai-project",
        "openai-beta",
        "anthropic-version",
        "anthropic-beta",
    )
    key_service_tier: bool = False
    """Whether `service_tier` belongs to the key."""
    remote_media: bool = False
    """Whether requests that name a remote picture or file may be cached."""
    aliases: bool = True
    """Take the cache headers of other gateways (LiteLLM, Portkey, Helicone, Cloudflare) too."""
    memory: Memory = Memory()
    disk: Disk = Disk()
    redis: Redis = Redis()
    objects: Objects = Objects()
    mask: tuple[Mask, ...] = ()
    rule: tuple[Rule, ...] = ()


class Tenant(_Table, frozen=True):
    name: str
    key_env: str
    upstream_key_env: str = ""
    """Variable with the credential sent upstream; empty: the node's, or the client's own."""
    models: tuple[str, ...] = ("*",)
    controls: tuple[str, ...] = ("*",)
    """Request controls this tenant may use, by name; `*`: all."""
    max_ttl: Duration = Duration(0)
    """Longest ttl this tenant may ask for; 0: `cache.max_ttl`."""


class Config(_Table, frozen=True):
    server: Server = Server()
    admin: Admin = Admin()
    log: Log = Log()
    upstream: tuple[Upstream, ...] = ()
    model: tuple[Model, ...] = ()
    cache: Cache = Cache()
    semantic: Semantic = Semantic()
    routing: Routing = Routing()
    zone: Zone = Zone()
    tenant: tuple[Tenant, ...] = ()


def _value(kind: type, value: Any) -> Any:
    """Turn what TOML holds into our own number types, for msgspec."""
    if kind is Duration:
        return Duration(seconds(value))
    if kind is Size:
        return Size(size(value))
    raise NotImplementedError  # what msgspec asks for where a hook does not know a type


def parse(text: str) -> Config:
    """The settings in a TOML text. Raises ConfigError, naming the setting."""
    try:
        config = msgspec.convert(tomllib.loads(text), Config, dec_hook=_value)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from error
    _check(config)
    return config


def load(path: Path) -> Config:
    """The settings in a file. Raises ConfigError."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _check(config: Config) -> None:
    """What types alone cannot say. Raises ConfigError."""
    names = [node.name for node in config.upstream]
    for i, node in enumerate(config.upstream):
        if not re.fullmatch(r"https?://[^/?#]+(/[^?#]*)?", node.url):
            raise ConfigError(f"expected an http(s) URL without query - at `$.upstream[{i}].url`")
        if names.count(node.name) > 1:
            raise ConfigError(f"name {node.name!r} is used twice - at `$.upstream[{i}].name`")
    patterns = [(f"cache.mask[{i}]", m.pattern) for i, m in enumerate(config.cache.mask)]
    patterns += [(f"cache.rule[{i}].text", r.text) for i, r in enumerate(config.cache.rule)]
    for where, pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"not a regular expression: {error} - at `$.{where}`") from error
    if config.admin.host not in ("127.0.0.1", "::1", "localhost") and not config.admin.token_env:
        raise ConfigError("a token is required off loopback - at `$.admin.token_env`")
