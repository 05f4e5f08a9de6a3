"""The settings of the semantic process, as the gateway's own settings have them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from proxy.config import ConfigError
from proxy.environment import disk_path, judge_key
from semantic.embed.extra import missing
from semantic.letters import plain
from semantic.settings import Judge, Settings, Terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from proxy.config import Config


def installed(config: Config, found: Callable[[str], object] = find_spec) -> None:
    """Whether the extra of the embedder is there, if it is wanted. Raises: ConfigError."""
    if config.semantic.mode != "off" and (said := missing(config.semantic.embedder, found)):
        raise ConfigError(f"{said} - at `semantic.embedder`")


def compared(config: Config, environ: Mapping[str, str]) -> Settings:
    """What the semantic process is started with. Raises: ConfigError."""
    table, path = config.semantic, disk_path(config, environ)
    return Settings(
        mode="on" if table.mode == "on" else "shadow",
        embedder=table.embedder or "use",
        profile=table.profile,
        policy=table.policy,
        min_similarity=table.min_similarity,
        max_error_rate=table.max_error_rate,
        sample_rate=table.sample_rate,
        answer_similarity=table.answer_similarity,
        max_chars=table.max_chars,
        volatile_ttl=float(table.volatile_ttl),
        personal=table.personal,
        cross_language=table.cross_language,
        top_k=table.top_k,
        max_scopes=table.max_scopes,
        max_entries_per_scope=table.max_entries_per_scope,
        max_bytes=int(table.max_bytes),
        index=table.index,
        state="" if path is None else str(path / "semantic"),
        terms=_terms(config),
        judge=_judge(config, environ),
    )


def _terms(config: Config) -> Terms:
    """Raises: ConfigError where a word has synonyms in two sets: one stands for each set, and all
    of one must ask the same."""
    table, sets = config.semantic, dict[str, int]()
    for i, words in enumerate(table.synonyms):
        for word in words:
            if sets.setdefault(plain(word), i) != i:
                what = f"expected words of no other set, got {word}"
                raise ConfigError(f"{what} - at `semantic.synonyms[{i}]`")
    return Terms(
        protected_terms=table.protected_terms,
        antonyms=table.antonyms,
        classes=table.classes,
        synonyms=table.synonyms,
    )


def _judge(config: Config, environ: Mapping[str, str]) -> Judge:
    table = config.semantic.judge
    key = judge_key(config, environ) or ""
    return Judge(table.mode, table.url, table.model, key, float(table.timeout))
