"""Is there a stored question that asks the same? The ladder from the canonical form down."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from semantic.alike import alike, least
from semantic.eligible import ineligible
from semantic.form import Forms, tells
from semantic.guard.verdict import opposed, refusal
from semantic.lessons import EQUAL
from semantic.protocol import Found
from semantic.reading import read
from semantic.vector import packed

if TYPE_CHECKING:
    from collections.abc import Callable

    from semantic.lessons import Lessons
    from semantic.memory import Held, Memory
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
        self.forms = Forms(settings)
        """How questions are put into the form by which they are stored."""
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
        asked = _Asked(message, reading, self.forms.of(reading), group)
        mark = self._memory.mark
        found = self._canonical(asked) or self._promoted(asked) or await self._near(asked)
        return replace(found, group=group, form=asked.form, mark=mark)

    def _canonical(self, asked: _Asked) -> Found | None:
        """By its canonical form, if there is one and it may be used."""
        if not tells(asked.form):
            return None
        keys = self._memory.same(asked.message.scope, asked.form, self._settings.top_k)
        key = next((key for key in keys if self._agrees(asked, key)), None)
        if key is None:
            return None
        found = self._settled(asked, key, "canonical", EQUAL)
        return None if found.action == "none" else found

    def _agrees(self, asked: _Asked, key: bytes) -> bool:
        """Whether an answer stands whose question, of the same form, does not say the opposite."""
        held = self._standing(asked, key)
        return held is not None and not opposed(asked.reading, self._read(held.text))

    def _promoted(self, asked: _Asked) -> Found | None:
        """By what the judge said of this very question behind an earlier answer."""
        key, near, ends = self._lessons.promoted(asked.message.scope, asked.message.text)
        if near < asked.message.threshold:
            return None
        held = self._standing(asked, key)
        if held is None or held.expires != ends:
            return None  # not the answer that was judged
        return Found(action="serve", key=key, scope=asked.message.scope, similarity=near)

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
        held = self._standing(asked, key)
        if held is None:
            return Found(reason="scope_empty")
        if similarity < asked.message.threshold:
            return Found(reason="below_threshold", similarity=similarity)
        found = self._settled(asked, key, "semantic", similarity)
        settings = self._settings
        bar = least(settings, asked.reading.language)
        if found.action == "none" and similarity < bar:
            return found  # most are too far away; the guards are not asked about those
        stored = self._read(held.text)
        if guard := refusal(asked.reading, stored, settings):
            return Found(reason=f"guard:{guard}", similarity=similarity)
        if found.action != "serve" and similarity >= bar and alike(asked.reading, stored):
            # The same words: to the error budget that is as good as the same canonical form.
            return self._settled(asked, key, "canonical", similarity)
        return found

    def _standing(self, asked: _Asked, key: bytes) -> Held | None:
        """What is known of the question under this key, if it has an answer that nobody called
        wrong for this one."""
        held, message = self._memory.get(key), asked.message
        if held is None or held.scope != message.scope:
            return None
        if not self._memory.lives(held, self._now()):
            return None
        blocked = self._lessons.blocked(message.scope, message.text, asked.form, key)
        return None if blocked else held

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
        )
