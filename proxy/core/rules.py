"""What the configuration says about a request's identity, ready to be applied to each one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec
from blake3 import blake3

from proxy.config import Config, ConfigError, UnsetError
from proxy.core import controls, tenant
from proxy.core.canonical import ECHOED, INERT
from proxy.core.context import NAMES as CONTEXT_NAMES
from proxy.core.controls import HEADER_NAMES, OWN_NAMES
from proxy.core.endpoint import Endpoint
from proxy.core.headers import CREDENTIALS
from proxy.core.normalize import Normalizer, normalizer
from proxy.core.quota import Quota
from proxy.core.tenant import Caller, Known
from proxy.mistake import one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.config import Model, Rule
    from proxy.config import Tenant as Table

READ: Final = frozenset(
    {"accept-encoding", "connection", "content-type", "content-encoding", *CREDENTIALS}
)
"""Headers that say who asks, how bodies are encoded, and which others are not sent on."""


class Served(msgspec.Struct, frozen=True):
    """What a model's name stands for."""

    target: str
    model_version: str = ""
    template_version: str = ""


class LifetimeRule(msgspec.Struct, frozen=True):
    """A lifetime for the requests that match every condition given."""

    ttl: float
    model: str = ""
    namespace: str = ""
    tag: str = ""
    text: re.Pattern[str] | None = None
    exchange: str = ""
    """Answers end with its next session close; empty: at no set time."""
    pin: bool = False


class Rules(msgspec.Struct, frozen=True, eq=False):
    """Everything that `receive` goes by besides the request; each one equal to itself alone."""

    secret: bytes
    """32 bytes that key the partitions."""
    tenants: tuple[Known, ...]
    models: dict[str, Served]
    namespace: str
    normalizer: Normalizer | None
    key_headers: frozenset[str]
    inert: frozenset[str]
    remote_media: bool
    aliases: bool
    control_names: frozenset[str]
    """The headers that are read as controls, and not forwarded."""
    read_headers: frozenset[str]
    """All headers that `receive` reads."""
    lifetimes: tuple[LifetimeRule, ...]
    texts: bool
    """Whether one of them looks at texts."""
    exchanges: frozenset[str]
    """Those whose closes are known: the only ones that a tag may name."""
    ttl: float
    max_ttl: float
    compares: int = 0
    """Characters of a question that is compared by its meaning, at most; 0: none is."""
    compares_tools: bool = False
    """Also of requests with tools."""

    def ignored(self, endpoint: Endpoint) -> frozenset[str]:
        """The top-level members that are not in the key."""
        return self.inert - ECHOED if endpoint is Endpoint.RESPONSES else self.inert

    def served(self, model: str) -> Served:
        """What is asked for under this name."""
        return self.models.get(model) or Served(model)


def rules(config: Config, secrets: Mapping[str, str]) -> Rules:
    """Make ready what the configuration says. `secrets`: values of environment variables.

    Raises: ConfigError.
    """
    cache = config.cache
    secret = _secret(config.server.partition_key_env, secrets)
    key_headers = frozenset(name.lower() for name in cache.key_headers)
    control_names = CONTEXT_NAMES | (HEADER_NAMES if cache.aliases else OWN_NAMES)
    return Rules(
        secret=secret,
        tenants=_tenants(config, secret, secrets),
        models=_models(config.model),
        namespace=cache.namespace,
        normalizer=normalizer(
            cache.normalize, cache.mask, cache.filler_words, cache.normalize_max_bytes
        ),
        key_headers=key_headers,
        inert=INERT - {"service_tier"} if cache.key_service_tier else INERT,
        remote_media=cache.remote_media,
        aliases=cache.aliases,
        control_names=control_names,
        read_headers=READ | key_headers | control_names - CONTEXT_NAMES,
        lifetimes=tuple(_lifetime(rule, cache.ttl) for rule in cache.rule),
        texts=any(rule.text for rule in cache.rule),
        exchanges=frozenset(exchanges(config)),
        ttl=float(cache.ttl),
        max_ttl=float(cache.max_ttl),
        compares=config.semantic.max_chars if config.semantic.mode != "off" else 0,
        compares_tools=config.semantic.tools,
    )


def exchanges(config: Config) -> dict[str, str]:
    """The exchanges that are named, each with the setting that names it."""
    cache = config.cache
    named = [(name, f"cache.calendars[{i}]") for i, name in enumerate(cache.calendars)]
    ruled = [(rule.calendar, f"cache.rule[{i}].calendar") for i, rule in enumerate(cache.rule)]
    return {name: where for name, where in (*ruled, *named) if name}


def _secret(variable: str, secrets: Mapping[str, str]) -> bytes:
    material = _value(variable, secrets, "server.partition_key_env") if variable else ""
    return blake3(material.encode(), derive_key_context="hotprefix tenant partition 1").digest()


def _value(variable: str, secrets: Mapping[str, str], where: str) -> str:
    if not (value := secrets.get(variable, "")):
        raise UnsetError(variable, where)
    return value


def _models(tables: tuple[Model, ...]) -> dict[str, Served]:
    """An alias without versions of its own has those of the model it stands for."""
    named = {table.name: table for table in tables}
    served = {}
    for table in tables:
        target = table.target or table.name
        versions = [table, named.get(target, table)]
        served[table.name] = Served(
            target,
            next((t.model_version for t in versions if t.model_version), ""),
            next((t.template_version for t in versions if t.template_version), ""),
        )
    return served


def _tenants(config: Config, secret: bytes, secrets: Mapping[str, str]) -> tuple[Known, ...]:
    known: dict[bytes, Known] = {}
    for i, table in enumerate(config.tenant):
        where = f"tenant[{i}]"
        for j, control in enumerate(table.controls):
            if control not in (*controls.FIELDS, "*"):
                told = one_of((*controls.FIELDS, "*"), control)
                raise ConfigError(f"{told} - at `{where}.controls[{j}]`")
        credential = None
        if table.upstream_key_env:
            credential = _value(table.upstream_key_env, secrets, f"{where}.upstream_key_env")
        digest = tenant.digest(secret, _value(table.key_env, secrets, f"{where}.key_env"))
        if digest in known:
            raise ConfigError(
                f"expected a key of its own, another tenant has the same - at `{where}.key_env`"
            )
        caller = Caller(
            tenant=tenant.shared(secret, table.name),
            name=table.name,
            credential=credential,
            models=table.models,
            controls=table.controls,
            max_ttl=float(min(table.max_ttl or config.cache.max_ttl, config.cache.max_ttl)),
            quota=_quota(config.tenant, i),
        )
        known[digest] = Known(digest, caller)
    return tuple(known.values())


def _quota(tables: tuple[Table, ...], index: int) -> Quota:
    """Tables with one name are one tenant, so they have one limit, in whichever it is written."""
    same = [table for table in tables if table.name == tables[index].name]
    limits = []
    for setting in ("requests_per_minute", "tokens_per_minute"):
        given = {limit for table in same if (limit := getattr(table, setting))}
        if len(given) > 1:
            where = f"tenant[{index}].{setting}"
            raise ConfigError(
                f"expected one limit, another table of this tenant has another - at `{where}`"
            )
        limits.append(max(given, default=0))
    return Quota(*limits)


def _lifetime(rule: Rule, usual: float) -> LifetimeRule:
    return LifetimeRule(
        ttl=float(rule.ttl or usual),
        model=rule.model,
        namespace=rule.namespace,
        tag=rule.tag,
        text=re.compile(rule.text) if rule.text else None,
        exchange=rule.calendar,
        pin=rule.pin,
    )
