"""Many different questions at once, whose first answers are held and whose second ones are not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests import answers
from tests.e2e import crowd
from tests.reply import body, events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.answers import Json
    from tests.e2e.crowd import Member
    from tests.gateway import Gateway
    from tests.reply import Reply, Seen
    from tests.upstream import Channel

    Place: TypeAlias = Literal["head", "middle"]
    """Where an answer is held: before its first byte, or when half of it is sent."""


def question(number: int) -> Json:
    """Each number's is another one."""
    return {**crowd.ASKED, "seed": number}


class Questions:
    """The mock's answers say whose they are, and the how manieth: `7/1`, `7/2`."""

    def __init__(self, upstream: Channel, place: Place) -> None:
        self.calls: Counter[int] = Counter()
        self.gate = upstream.gate()
        """Of the first answer to each."""
        self._place = place
        self._upstream = upstream
        upstream.default = self._answer

    def _answer(self, seen: Seen) -> Reply:
        asked = seen.json()
        number = asked["seed"]
        self.calls[number] += 1
        said, held = f"{number}/{self.calls[number]}", self.calls[number] == 1
        if asked.get("stream"):
            reply = _streamed(said, self if held and self._place == "middle" else None)
        else:
            reply = _whole(said, self if held and self._place == "middle" else None)
        return reply.but(hold=self.gate) if held and self._place == "head" else reply

    async def join(
        self, gateways: Sequence[Gateway], number: int, *, stream: bool = False
    ) -> list[Member]:
        """A client at each of the gateways, asking one after the other; not before the upstream
        was asked is the second one there."""
        first, *rest = gateways
        members = [await self._one(first, number, stream)]
        await self._upstream.until(lambda: self.calls[number] >= 1)
        return members + [await self._one(other, number, stream) for other in rest]

    async def _one(self, gateway: Gateway, number: int, stream: bool) -> Member:
        return await crowd.join(gateway, self._upstream, stream, asked=question(number))


def _whole(said: str, held: Questions | None) -> Reply:
    data = answers.dumps(answers.chat(said))
    half = len(data) // 2
    return (
        body(data) if held is None else body(b"").but(pieces=(data[:half], held.gate, data[half:]))
    )


def _streamed(said: str, held: Questions | None) -> Reply:
    first, *rest = answers.chat_events([f"<{said}", ">"], usage=answers.USAGE)
    gate = () if held is None else (held.gate,)
    return events([first, rest[0], *gate, *rest[1:]])
