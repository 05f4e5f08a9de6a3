"""Settings as frozen values: TOML in, an error that names the setting's path out."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from proxy.mistake import mistake, not_toml, shown, unread
from proxy.quantity import Duration, Size, Timeout, seconds, size

if TYPE_CHECKING:
    from pathlib import Path


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the setting and what was expected."""


class UnsetError(ConfigError):
    """A variable that the configuration names is not there: elsewhere it may be."""

    def __init__(self, variable: str, where: str) -> None:
        super().__init__(f"the variable {variable} is not set - at `{where}`")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table of the file: unknown settings are errors."""


Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Profile = Literal["none", "prose", "fold"]


def _words(pattern: str, meaning: str) -> msgspec.Meta:
    """What a text has to match, and what is told where it does not: no pattern."""
    return msgspec.Meta(pattern=pattern, description=meaning)


_ENDPOINT = _words(
    r"^(tcp://([^:/@\s*]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}|ipc://\S+)?$",
    "tcp://host:port with the host's own name or address, or ipc:///path",
)
_PROBE = _words("^(auto|/.*)?$", 'a path such as "/health", "auto" or ""')
_METRICS = _words(
    r"^((https?://[^/?#\s]+)?/[^#\s]*)?$", 'a path such as "/metrics", or a URL with a path'
)


class Server(_Table, frozen=True):
    host: str = "127.0.0.1"
    port: Port = 8080
    workers: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 1
    max_body_bytes: Size = Size(33554432)
    max_request_bytes: Size = Size(134217728)
    """A JSON request above this is refused with 413; uploads to other endpoints have no limit."""
    max_header_bytes: Size = Size(65536)
    keepalive_timeout: Duration = Duration(75)
    body_timeout: Duration = Duration(300)
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
    max_concurrency: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Calls at the same time, of each worker; 0: as many as `max_connections`."""
    ask_usage: bool = True
    """Ask for `stream_options.include_usage` on every stream, so that one entry serves all."""
    weight: Annotated[float, msgspec.Meta(gt=0.0, le=100.0)] = 1.0
    """How fast it computes prompts, beside the others."""
    probe: Annotated[str, _PROBE] = "auto"
    """The path that is asked each second whether the node lives, where several nodes are there;
    auto: /health of nodes by http, none of those by https; empty: none."""
    frozen_timeout: Duration = Duration(10)
    """How long nothing may come of a node, no answer to a probe either, until the answers that it
    has begun are ended, where another could be asked; 0: `idle_timeout` alone ends them."""
    metrics: Annotated[str, _METRICS] = ""
    """Where its engine tells in Prometheus text how many requests it has, such as /metrics: a path
    on its host, or a URL. Asked each second; empty: it is not asked."""
    events: Annotated[str, _ENDPOINT] = ""
    """Where its engine publishes what becomes of its cache's blocks, over ZeroMQ: tcp://host:port
    or ipc:///path; empty: it is not listened to."""
    events_replay: Annotated[str, _ENDPOINT] = ""
    """Where it can be asked for events that were missed; empty: nowhere."""
    events_topic: str = ""
    """Of the events that are taken, the beginning of their topic; empty: all."""
    verify_tls: bool = True
    provider: str = "auto"
    """Whose rules hold for what it keeps of prompts; auto: by its host."""


class Provider(_Table, frozen=True):
    """What a provider keeps of prompts and what that costs, laid over the built-in rules: what is
    left out stays as it is there."""

    name: str
    hosts: tuple[str, ...] = ()
    """Globs: upstreams with such a host are this provider's."""
    models: tuple[str, ...] = ("*",)
    """Globs; of several tables the first that has one for a model is taken."""
    as_of: str | None = None
    """The date of what is said here."""
    paid: bool | None = None
    """Whether every call is billed."""
    min_tokens: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """A shorter prompt is not kept."""
    ttl: Duration | None = None
    """How long a prompt is kept from its last use on; 0: until it is driven out."""
    price: Annotated[float, msgspec.Meta(ge=0.0)] | None = None
    """Of a million input tokens, in the unit of `warming.money_per_day`."""
    read: Annotated[float, msgspec.Meta(ge=0.0)] | None = None
    """The price of a token that was kept, as a multiple of that."""
    write: Annotated[float, msgspec.Meta(ge=0.0)] | None = None
    """The price of a token that is computed and kept, as a multiple of that."""
    limit: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The member of a chat's body that limits the answer."""
    least_output: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """The shortest answer that it may be set to."""
    marked: bool | None = None
    """Whether only what a body marks with `cache_control` is kept."""


class Model(_Table, frozen=True):
    name: str
    """What clients ask for."""
    target: str = ""
    """What is sent upstream; empty: the same."""
    model_version: str = ""
    template_version: str = ""
    price: Annotated[float, msgspec.Meta(ge=0.0)] = 1.0
    """Of a thousand tokens, in any unit: what is dear is kept longer in the far tiers."""


class Mask(_Table, frozen=True):
    name: str
    pattern: str


class Rule(_Table, frozen=True):
    """A lifetime for the requests that match every condition given; the first match wins."""

    ttl: Duration = Duration(0)
    """0: `cache.ttl`."""
    model: str = ""
    """A glob."""
    namespace: str = ""
    tag: str = ""
    text: str = ""
    """A regular expression, searched in the request's text."""
    calendar: str = ""
    """An exchange, such as XNYS: answers end at its next session close."""
    pin: bool = False
    """Keep through evictions; asked again behind an answer once `ttl` is over."""


class Memory(_Table, frozen=True):
    max_bytes: Size = Size(268435456)
    ttl: Duration = Duration(300)
    memo_entries: Annotated[int, msgspec.Meta(ge=0)] = 16384
    """How many request spellings are recognized by their bytes alone."""


class Disk(_Table, frozen=True):
    path: str = ""
    max_bytes: Size = Size(4294967296)


class Redis(_Table, frozen=True):
    url: str = ""
    """redis:// rediss:// unix:// redis+sentinel:// redis+cluster://; empty: no Redis."""
    username: str = ""
    password_env: str = ""
    timeout: Timeout = Timeout(0.010)
    """Of every operation, waiting for a connection included."""
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = 16
    """Of each worker, to each server."""
    prefix: Annotated[str, _words("^[^{}]+$", "text without { and }")] = "hotprefix:"
    """Of the name of every key."""
    ca_file: str = ""
    """Certificates that a rediss:// server is checked against; empty: the system's."""
    filter_bytes: Size = Size(4194304)
    """Of the filter that spares look-ups of keys that Redis does not have; 0: none."""


class Objects(_Table, frozen=True):
    url: str = ""
    """s3://bucket/path gs:// az:// file:///path; empty: no object tier."""
    timeout: Timeout = Timeout(0.250)
    min_cost: Annotated[float, msgspec.Meta(ge=0.0)] = 1.0
    """Thousands of tokens, times price, times seconds that an answer must have cost to be kept."""


class Encryption(_Table, frozen=True):
    key: str = ""
    """env:NAME, file:PATH or aws-kms:KEY; empty: nothing is encrypted."""
    old_keys: tuple[str, ...] = ()
    """Keys that older entries may still be read with."""


class Judge(_Table, frozen=True):
    """A small model that is asked whether a stored answer answers a new question."""

    mode: Literal["off", "sync", "async"] = "off"
    """sync: before a hit is served; async: behind the upstream's answer, for the next time."""
    url: str = ""
    """Of its API, up to and with /v1."""
    model: str = ""
    key_env: str = ""
    timeout: Timeout = Timeout(2)


class Semantic(_Table, frozen=True):
    """Answers to questions that mean the same."""

    mode: Literal["off", "shadow", "on"] = "off"
    """shadow: the upstream answers, and what would have been served is compared with that."""
    embedder: str = ""
    """use (the default), e5, sentence-transformers:MODEL, or http:URL?model=NAME of an embeddings
    API, with &key_env=VARIABLE where it wants a credential."""
    profile: Literal["strict", "balanced", "relaxed"] = "strict"
    min_similarity: Share = 0.0
    """From which on neighbours are served; 0: from where the error budget allows it."""
    max_error_rate: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] = 0.01
    """Of the answers served by meaning, the share that may be wrong."""
    policy: Literal["threshold", "entry"] = "threshold"
    """Whether evidence counts for all of a model and language, or for each stored answer."""
    sample_rate: Share = 0.02
    """Share of hits that the upstream answers all the same, to be compared."""
    answer_similarity: Share = 0.85
    """From which on two answers are taken to say the same."""
    timeout: Timeout = Timeout(0.050)
    """Of a look-up; what takes longer is a miss."""
    max_chars: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400
    """Of a question; longer ones are not compared."""
    volatile_ttl: Duration = Duration(300)
    """Questions about now are compared only where answers live no longer than this."""
    personal: bool = False
    """Compare questions about the asker's own affairs: where each credential is one person's."""
    tools: bool = False
    """Compare questions of requests with tools."""
    cross_language: bool = False
    top_k: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    """Neighbours that are looked at."""
    max_scopes: Annotated[int, msgspec.Meta(ge=1)] = 10_000
    max_entries_per_scope: Annotated[int, msgspec.Meta(ge=1)] = 20_000
    max_bytes: Size = Size(268435456)
    """Of vectors, in each machine's semantic process."""
    index: str = ""
    """redis:// URL of a Redis 8, to search there instead of in memory; empty: in memory."""
    protected_terms: tuple[str, ...] = ()
    """Names that two questions must have in common to be the same."""
    antonyms: tuple[tuple[str, str], ...] = ()
    """Pairs of words that turn a question round."""
    classes: tuple[tuple[str, ...], ...] = ()
    """Sets of words of which two different ones ask different things."""
    synonyms: tuple[tuple[str, ...], ...] = ()
    """Sets of words that ask the same."""
    judge: Judge = Judge()


class Routing(_Table, frozen=True):
    """Which node of several that serve a model is asked."""

    policy: Literal["prefix", "ring", "least", "random"] = "prefix"
    """prefix: the one with the least to compute; ring: consistent hashing; least: the one with the
    fewest running requests."""
    miss_weight: Annotated[float, msgspec.Meta(ge=0.0)] = 2.0
    """What a miss costs others, beside what it costs itself; twice that while nodes are busy."""
    zone_penalty: Annotated[float, msgspec.Meta(ge=0.0)] = 20_000.0
    """Tokens that a node of another zone has to be better by."""
    prefill_tokens: Annotated[int, msgspec.Meta(ge=0)] = 2048
    """Tokens in common with a prompt that the node is computing just now, from which on a call
    waits for it instead of having them computed twice; 0: never."""
    prefill_wait: Timeout = Timeout(2)
    """For so long at most."""
    table_entries: Annotated[int, msgspec.Meta(ge=1)] = 200_000
    """Prefix boundaries remembered by each worker, of all nodes together; about 300 bytes each. In
    Redis as many are kept."""
    decisions: Annotated[int, msgspec.Meta(ge=0)] = 256
    """How many of its last decisions and requests each worker shows."""


class Schedule(_Table, frozen=True):
    """Prompts that are warmed at set times."""

    cron: str
    """Five fields, or six with seconds first."""
    file: str
    """One request a line, as `hotprefix warm` takes it."""
    key_env: str = ""
    """Variable with the credential of the client whose prompts they are; empty: none."""


class Warming(_Table, frozen=True):
    """Prompts that nodes are made to compute before they are asked for."""

    mode: Literal["off", "on"] = "off"
    """off: on demand only, by `hotprefix warm`."""
    paid: bool = False
    """Whether nodes are warmed whose provider bills every call."""
    tokens_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 200_000
    """To be computed for it, by this gateway and, over one Redis, by all together; 0: none."""
    money_per_day: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    """To be spent on it, likewise, in any unit; 0: nothing."""
    min_tokens: Annotated[int, msgspec.Meta(ge=1)] = 1024
    """A shorter beginning of a prompt is not worth it."""
    min_uses: Annotated[int, msgspec.Meta(ge=2)] = 3
    """Requests that must have begun with it before it is warmed unasked."""
    copies: Annotated[int, msgspec.Meta(ge=1)] = 1
    """Nodes of this zone that shall hold it: with two, one may fail."""
    standby: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Nodes of each other zone that shall hold it, for the time when this one fails."""
    chunk_tokens: Annotated[int, msgspec.Meta(ge=256)] = 8192
    """A longer prompt is computed in steps of this size, so that nobody waits for all of it."""
    timeout: Timeout = Timeout(60)
    """Of one call."""
    max_bytes: Size = Size(16777216)
    """Of prompts that each worker keeps for it, in memory only."""
    timezone: str = "UTC"
    """Of the schedules."""
    schedule: tuple[Schedule, ...] = ()


class Zone(_Table, frozen=True):
    name: str = "local"


class Cache(_Table, frozen=True):
    ttl: Duration = Duration(3600)
    max_ttl: Duration = Duration(2592000)
    jitter: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.1
    stale_while_revalidate: Duration = Duration(300)
    stale_if_error: Duration = Duration(86400)
    negative_ttl: Duration = Duration(10)
    early_refresh: Annotated[float, msgspec.Meta(ge=0.0)] = 1.0
    """How eagerly what is asked for is refreshed before it expires (XFetch's beta); 0: never."""
    uncacheable_ttl: Duration = Duration(120)
    """How long a key whose answer could not be stored is not waited for; 0: not remembered."""
    calendars: tuple[str, ...] = ()
    """Exchanges that tags such as `exchange:XNYS` may name, besides those of the rules."""
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
    encryption: Encryption = Encryption()
    mask: tuple[Mask, ...] = ()
    rule: tuple[Rule, ...] = ()


class Peers(_Table, frozen=True):
    """How the gateways of a fleet reach each other."""

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Port = 0
    """Worker n listens on the nth port from here; 0: any free ones."""
    advertise: str = ""
    """The host by which other gateways reach this one; empty: `host`."""
    secret_env: str = ""
    """Variable with what all gateways of the fleet share; empty: flights end at the machine."""


class Breaker(_Table, frozen=True):
    """When a node is left alone, for each model that it serves."""

    failure_ratio: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = 0.5
    slow_ratio: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = 0.9
    slow_call: Duration = Duration(0)
    """To the first byte; a slower one counts as slow. 0: none does."""
    min_calls: Annotated[int, msgspec.Meta(ge=1)] = 20
    window: Timeout = Timeout(30)
    open_for: Timeout = Timeout(10)


class Overload(_Table, frozen=True):
    """What is done when more is asked than the upstream can answer."""

    adaptive: bool = True
    """Lower a node's limit of calls when its first bytes come later and later."""
    min_concurrency: Annotated[int, msgspec.Meta(ge=1)] = 8
    """The adaptive limit never falls below."""
    queue: Annotated[int, msgspec.Meta(ge=0)] = 1000
    """Requests of each worker that may wait for a node."""
    queue_timeout: Timeout = Timeout(10)
    max_attempts: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Nodes that are asked for one request, at most."""
    retry_ratio: Share = 0.2
    """Second attempts, as a share of all requests."""
    degrade_below_hit_ratio: Share = 0.0
    """With fewer hits than this and the upstream saturated, stale and static answers are served
    without asking; 0: never."""


class Static(_Table, frozen=True):
    """What is answered where nothing else can be."""

    text: str
    text_zh: str = ""
    """To prompts in Chinese; empty: `text`."""
    model: str = "*"
    """A glob."""


class Limits(_Table, frozen=True):
    """Of each credential, where no tenant is configured; a tenant has its own. 0: none."""

    requests_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0
    tokens_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0


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
    requests_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0
    tokens_per_minute: Annotated[int, msgspec.Meta(ge=0)] = 0


class Config(_Table, frozen=True):
    server: Server = Server()
    admin: Admin = Admin()
    log: Log = Log()
    upstream: tuple[Upstream, ...] = ()
    provider: tuple[Provider, ...] = ()
    model: tuple[Model, ...] = ()
    cache: Cache = Cache()
    semantic: Semantic = Semantic()
    routing: Routing = Routing()
    warming: Warming = Warming()
    zone: Zone = Zone()
    peers: Peers = Peers()
    breaker: Breaker = Breaker()
    overload: Overload = Overload()
    limits: Limits = Limits()
    static: tuple[Static, ...] = ()
    tenant: tuple[Tenant, ...] = ()


def _value(kind: type, value: Any) -> Any:
    """Turn what TOML holds into our own number types, for msgspec."""
    if kind is Duration:
        return Duration(seconds(value))
    if kind is Timeout:
        return Timeout(seconds(value, zero=False))
    if kind is Size:
        return Size(size(value))
    raise NotImplementedError  # what msgspec asks for where a hook does not know a type


def parse(text: str) -> Config:
    """The settings in a TOML text. Raises ConfigError, naming the setting."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(not_toml(error, text)) from error
    try:
        config = msgspec.convert(given, Config, dec_hook=_value)
    except msgspec.ValidationError as error:
        raise ConfigError(mistake(error, given, Config)) from error
    _check(config)
    return config


def load(path: Path) -> Config:
    """The settings in a file. Raises ConfigError."""
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {unread(error)}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _check(config: Config) -> None:
    """What types alone cannot say. Raises ConfigError."""
    names = [node.name for node in config.upstream]
    for i, node in enumerate(config.upstream):
        if not re.fullmatch(r"https?://[^/?#]+(/[^?#]*)?", node.url):
            what = 'expected a URL without query, such as "https://api.openai.com/v1"'
            raise ConfigError(f"{what}, got {shown(node.url)} - at `upstream[{i}].url`")
        if node.events_replay and not node.events:
            what = "expected an address, as `events_replay` is set"
            raise ConfigError(f"{what} - at `upstream[{i}].events`")
        for name, url in (("events", node.events), ("events_replay", node.events_replay)):
            if url.startswith("tcp:") and not 0 < int(url.rpartition(":")[2]) < 65536:
                what = f"expected a port from 1 to 65535, got {shown(url)}"
                raise ConfigError(f"{what} - at `upstream[{i}].{name}`")
        if names.count(node.name) > 1:
            what = f"expected a name of its own, got {shown(node.name)} twice"
            raise ConfigError(f"{what} - at `upstream[{i}].name`")
    patterns = [(f"cache.mask[{i}].pattern", m.pattern) for i, m in enumerate(config.cache.mask)]
    patterns += [(f"cache.rule[{i}].text", r.text) for i, r in enumerate(config.cache.rule)]
    for where, pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            what = f"expected a regular expression, got {shown(pattern)}: {error}"
            raise ConfigError(f"{what} - at `{where}`") from error
    _check_ports(config)
    _check_semantic(config)
    if config.admin.host not in ("127.0.0.1", "::1", "localhost") and not config.admin.token_env:
        what = "expected the name of a variable with a token, as `admin.host` is not loopback"
        raise ConfigError(f"{what} - at `admin.token_env`")


_EMBEDDER = re.compile(r"use|e5|sentence-transformers:.+|(http:)?https?://[^/?#]+.*|")


def _check_semantic(config: Config) -> None:
    semantic, judge = config.semantic, config.semantic.judge
    if not _EMBEDDER.fullmatch(semantic.embedder):
        known = "use, e5, sentence-transformers:MODEL or an http(s) URL"
        given = shown(semantic.embedder)
        raise ConfigError(f"expected {known}, got {given} - at `semantic.embedder`")
    if judge.mode != "off" and not re.match("https?://", judge.url):
        raise ConfigError(f"expected a URL, got {shown(judge.url)} - at `semantic.judge.url`")
    if judge.mode != "off" and not judge.model:
        raise ConfigError("expected the judge's model - at `semantic.judge.model`")
    if semantic.index and not semantic.index.startswith(("redis://", "rediss://", "unix://")):
        what = "expected the URL of a Redis, such as redis://host:6379/0"
        raise ConfigError(f"{what}, got {shown(semantic.index)} - at `semantic.index`")
    if semantic.index and config.cache.encryption.key:
        raise ConfigError("expected none, as vectors are not encrypted there - at `semantic.index`")


def _check_ports(config: Config) -> None:
    """Two that listen on one port share it, and each gets some of the other's connections."""
    server, admin, first = config.server.port, config.admin.port, config.peers.port
    if server and server == admin:
        what = f"expected another port than `server.port`, got {admin}"
        raise ConfigError(f"{what} - at `admin.port`")
    if first and config.peers.secret_env:
        taken = range(first, first + config.server.workers)
        if taken.stop > 65536 or server in taken or admin in taken:
            what = f"expected {config.server.workers} free ports from {first} on"
            raise ConfigError(f"{what} - at `peers.port`")
