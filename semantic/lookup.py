"""Is there a stored question that asks the same? The ladder from the canonical form down."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from semantic.alike import alike
from semantic.eligible import ineligible
from semantic.form import Forms
from semantic.guard.verdict import refusal
from semantic.lessons import EQUAL
from semantic.profiles import threshold_alike
from semantic.protocol import Found
from semantic.reading import read
from semantic.vector import packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from semantic.lessons import Lessons
    from semantic.memory import Memory
    from semantic.protocol import Kind, Nearest
    from semantic.reading import Reading
    from semantic.settings import Settings
    from semantic.space import Space

_READ: Final = 1024
"""Readings that are remembered; about 5 kB each."""


class _Asked(NamedTuple):
    """A question that is looked up."""

    message: Nearest
    reading: Reading
    form: bytes
    group: str


class Lookup:
    """Looks questions up."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        space: Space,
        lessons: Lessons,
        now: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._memory = memory
        self._space = space
        self._lessons = lessons
        self._now = now
        self._forms = Forms(settings)
        # A question has the same neighbours as those it is asked beside; each takes 0.1 ms to read.
        self._read = lru_cache(maxsize=_READ)(partial(read, terms=settings.terms))

    async def nearest(self, message: Nearest) -> Found:
        """What may answer a question, and whether it is served. Raises: as the embedder and the
        index."""
        if len(message.text) > self._settings.max_chars:
            return Found(reason="ineligible:long")
        reading = self._read(message.text)
        if why := ineligible(reading, message.ttl, self._settings):
            return Found(reason=f"ineligible:{why}")
        group = f"{message.group}/{reading.language}"
        asked = _Asked(message, reading, self._forms.of(reading), group)
        found = self._canonical(asked) or self._promoted(asked) or await self._near(asked)
        if found.action in ("serve", "judge"):
            self._lessons.served(message.request, found, message.text)
        return replace(found, group=group, form=asked.form)

    def _canonical(self, asked: _Asked) -> Found | None:
        """By its canonical form, if there is one and it may be used."""
        key = None
        if self._forms.tells(asked.form):
            key = self._memory.same(asked.message.scope, asked.form)
        if key is None or not self._stands(asked, key):
            return None
        found = self._settled(asked, key, "canonical", EQUAL)
        return None if found.action == "none" else found

    def _promoted(self, asked: _Asked) -> Found | None:
        """By what the judge said of this very question behind an earlier answer."""
        key, near, ends = self._lessons.promoted(asked.message.scope, asked.message.text)
        if not key or near < asked.message.threshold or not self._stands(asked, key):
            return None
        held = self._memory.get(key)
        if held is None or held.expires != ends:
            return None  # not the answer that was judged
        return Found(
            action="serve",
            key=key,
            scope=asked.message.scope,
            similarity=near,
            group=asked.group,
        )

    async def _near(self, asked: _Asked) -> Found:
        """By its nearest neighbours."""
        message, embedder = asked.message, self._space.embedder
        if not embedder.takes(message.text):
            return Found(reason="ineligible:script")
        if not embedder.whole(message.text):
            return Found(reason="ineligible:long")
        vector = await self._space.vectors.vector(message.text)
        near = await self._space.index.search(message.scope, vector, self._settings.top_k)
        best = Found(reason="scope_empty")
        for key, similarity in near:
            found = self._judged(asked, key, similarity)
            if found.action != "none":
                best = found
                break
            best = found if best.reason == "scope_empty" else best
        return replace(best, tag=embedder.tag, vector=packed(vector))

    def _judged(self, asked: _Asked, key: bytes, similarity: float) -> Found:
        """What one neighbour is good for."""
        if not self._stands(asked, key):
            return Found(reason="scope_empty")
        if similarity < asked.message.threshold:
            return Found(reason="below_threshold", similarity=similarity)
        found = self._settled(asked, key, "semantic", similarity)
        settings, language = self._settings, asked.reading.language
        bar = threshold_alike(settings.profile, settings.embedder, language)
        bar = max(bar, settings.min_similarity)
        if found.action == "none" and similarity < bar:
            return found  # most are too far away; the guards are not asked about those
        held = self._memory.get(key)
        stored = self._read(held.text if held else "")
        if guard := refusal(asked.reading, stored, settings):
            return Found(reason=f"guard:{guard}", similarity=similarity)
        if found.action != "serve" and similarity >= bar and alike(asked.reading, stored):
            # The same words: to the error budget that is as good as the same canonical form.
            return self._settled(asked, key, "canonical", similarity)
        return found

    def _stands(self, asked: _Asked, key: bytes) -> bool:
        """Whether there may be an answer under this key, and nobody called it wrong for this."""
        held = self._memory.get(key)
        return (
            held is not None
            and held.scope == asked.message.scope
            and self._memory.lives(held, self._now())
            and not self._lessons.blocked(asked.message.scope, asked.message.text, key)
        )

    def _settled(self, asked: _Asked, key: bytes, kind: Kind, similarity: float) -> Found:
        """What the error budget says of it."""
        action, reason, threshold = self._lessons.verdict(asked.group, kind, similarity, key)
        return Found(
            action=action,
            key=key,
            scope=asked.message.scope,
            kind=kind,
            similarity=similarity,
            threshold=threshold,
            reason=reason,
            group=asked.group,
        )
