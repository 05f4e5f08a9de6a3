"""How meaning is compared, as one value that the semantic process is started with."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Profile: TypeAlias = Literal["strict", "balanced", "relaxed"]
"""Which guards are asked, and how near a neighbour has to be before anything was measured."""


class Judge(msgspec.Struct, frozen=True):
    """A small model that is asked whether a stored answer answers a new question."""

    mode: Literal["off", "sync", "async"] = "off"
    """sync: before a hit is served; async: behind the answer, for the next time."""
    url: str = ""
    """Of its chat completions API, up to and with `/v1`."""
    model: str = ""
    key: str = ""
    timeout: float = 2.0
    """Seconds."""


class Terms(msgspec.Struct, frozen=True):
    """What an operator knows of the field that questions are about."""

    protected_terms: tuple[str, ...] = ()
    """Names that have to be in both texts or in neither."""
    antonyms: tuple[tuple[str, str], ...] = ()
    """Pairs of words that turn a question round."""
    classes: tuple[tuple[str, ...], ...] = ()
    """Sets of words of which two different ones ask two different things."""
    synonyms: tuple[tuple[str, ...], ...] = ()
    """Sets of words that ask the same: their questions have one canonical form."""


class Settings(msgspec.Struct, frozen=True):
    """Of one semantic process."""

    mode: Literal["shadow", "on"] = "shadow"
    embedder: str = "use"
    """use, e5, sentence-transformers:<model or path>, http:<embeddings URL>."""
    profile: Profile = "strict"
    policy: Literal["threshold", "entry"] = "threshold"
    """Whether evidence is gathered for each group of scopes, or for each stored answer too."""
    min_similarity: float = 0.0
    """0: none is near enough until the error budget says so."""
    max_error_rate: float = 0.01
    sample_rate: float = 0.02
    """Share of hits that are answered upstream all the same, to be compared."""
    answer_similarity: float = 0.85
    """From which on two answers say the same."""
    max_chars: int = 400
    volatile_ttl: float = 300.0
    """Seconds: questions about now are compared only where answers live no longer."""
    personal: bool = False
    """Compare questions in the first person: where a credential is one person's."""
    cross_language: bool = False
    top_k: int = 5
    max_scopes: int = 10_000
    max_entries_per_scope: int = 20_000
    max_bytes: int = 268_435_456
    """Of vectors and texts."""
    index: str = ""
    """redis:// URL of a Redis 8 that searches vectors; empty: in this process."""
    state: str = ""
    """File that keeps what was learnt of errors; empty: nothing is kept."""
    terms: Terms = Terms()
    judge: Judge = Judge()
