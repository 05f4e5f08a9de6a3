"""What providers keep of prompts, for how long, and what that costs: rules as data, with a date."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec

from proxy.config import ConfigError
from proxy.config import Provider as Table
from proxy.mistake import one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.config import Config, Upstream

Limit: TypeAlias = Literal["max_tokens", "max_completion_tokens"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """How one provider treats the prompts for some models."""

    provider: str
    models: tuple[str, ...] = ("*",)
    """Globs; the first rule of the provider that has one for a model holds."""
    as_of: str
    """When it was so, as a date."""
    paid: bool = True
    """Whether every call is billed."""
    min_tokens: int = 1024
    """A shorter prompt is not kept."""
    ttl: float = 300.0
    """Seconds from its last use on; 0: until it is driven out."""
    read: float = 0.5
    """The price of a token that was kept, as a multiple of one that is neither kept nor to be."""
    write: float = 1.0
    """The same, of a token that is computed and kept."""
    price: float = 0.0
    """Of a million input tokens, in the unit of `warming.money_per_day`; 0: nobody has said."""
    limit: Limit = "max_tokens"
    """The member of a chat's body that limits the answer."""
    least_output: int = 1
    """The shortest answer that it may be set to."""
    marked: bool = False
    """Whether only what the body marks with `cache_control` is kept."""


_DATE: Final = "2026-11-30"

RULES: Final = (
    # Self-hosted: vLLM, SGLang, llama.cpp. What they keep costs nothing but the time it took.
    Rule(provider="engine", as_of=_DATE, paid=False, min_tokens=16, ttl=0, read=0.0),
    # Whoever else there is. The most careful reading of what others do.
    Rule(provider="unknown", as_of=_DATE),
    # Idle prompts live for 5 to 10 minutes; reading is "down to" a tenth, by model.
    Rule(provider="openai", as_of=_DATE, limit="max_completion_tokens"),
    Rule(provider="azure", as_of=_DATE, limit="max_completion_tokens"),
    # Five minutes unless a mark asks for an hour; an answer of no tokens is the documented form.
    *(
        Rule(
            provider="anthropic",
            models=models,
            as_of=_DATE,
            min_tokens=least,
            read=0.1,
            write=1.25,
            least_output=0,
            marked=True,
        )
        for least, models in (
            (512, ("*opus-5*", "*fable-5*", "*mythos-5*")),
            (1024, ("*opus-4-8*", "*sonnet*")),
            (2048, ("*opus-4-7*", "*haiku-3-5*", "*3-5-haiku*")),
            (4096, ("*",)),
        )
    ),
    # Kept on disk for hours.
    Rule(provider="deepseek", as_of=_DATE, ttl=3600.0, read=0.25),
    Rule(provider="gemini", models=("*2.0*",), as_of=_DATE, min_tokens=4096, read=0.25),
    Rule(provider="gemini", models=("*flash*",), as_of=_DATE, read=0.1),
    Rule(provider="gemini", as_of=_DATE, min_tokens=4096, read=0.1),
)

HOSTS: Final = (
    ("api.openai.com", "openai"),
    ("*.openai.azure.com", "azure"),
    ("api.anthropic.com", "anthropic"),
    ("api.deepseek.com", "deepseek"),
    ("generativelanguage.googleapis.com", "gemini"),
    ("*aiplatform.googleapis.com", "gemini"),
)
"""Globs on the host of an upstream's URL; the first that matches says whose it is."""


_R = TypeVar("_R", Rule, Table)
_RULES: Final = 1024
"""Found ones that are remembered: every choice of a node asks for some."""
_LONGEST: Final = 256
"""Characters of a model's name by which it is told: it may be as long as a client likes."""


class Providers:
    """The rules in effect: the built-in ones with the configured ones laid over them."""

    def __init__(self, config: Config) -> None:
        """Raises: ConfigError."""
        self._tables = config.provider
        known = {rule.provider for rule in RULES} | {table.name for table in self._tables}
        self._names = {}
        for i, upstream in enumerate(config.upstream):
            name = upstream.provider
            if name == "auto":
                name = _named(upstream, self._tables)
            elif name not in known:
                raise ConfigError(f"{one_of((*known, 'auto'), name)} - at `upstream[{i}].provider`")
            self._names[upstream.name] = name

        self._rule = lru_cache(_RULES)(self._found)

    def rule(self, node: str, model: str) -> Rule:
        """How the node of that name treats prompts for `model`; a stranger is taken for paid."""
        return self._rule(node, model[:_LONGEST])

    def _found(self, node: str, model: str) -> Rule:
        name = self._names.get(node, "unknown")
        own = [rule for rule in RULES if rule.provider == name]
        rule = _first(own, model) or Rule(provider=name, as_of="")
        told = _first([table for table in self._tables if table.name == name], model)
        return rule if told is None else _laid_over(rule, told)


def _named(upstream: Upstream, tables: Sequence[Table]) -> str:
    """Whose it is, by its URL: nobody is taken for free who may not be."""
    host = urlsplit(upstream.url).hostname or ""
    told = [(glob, table.name) for table in tables for glob in table.hosts]
    for glob, name in (*told, *HOSTS):
        if fnmatchcase(host, glob.lower()):
            return name
    return "unknown" if upstream.url.startswith("https:") else "engine"


def _first(rules: Sequence[_R], model: str) -> _R | None:
    for rule in rules:
        if any(fnmatchcase(model, glob) for glob in rule.models):
            return rule
    return None


def _laid_over(rule: Rule, table: Table) -> Rule:
    fields = msgspec.structs.asdict(table)
    del fields["name"], fields["hosts"]
    if fields["ttl"] is not None:
        fields["ttl"] = float(fields["ttl"])
    told = {name: value for name, value in fields.items() if value is not None}
    return msgspec.structs.replace(rule, **told)
