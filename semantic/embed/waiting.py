"""Waiting for an embedder behind a URL, which may be away for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from semantic.embed.port import Embedder

_FIRST: Final = 0.25
"""Seconds until the second attempt; each pause is twice the one before, up to `LONGEST`."""
LONGEST: Final = 60.0
SETTING: Final = "semantic.embedder"
"""Where an operator says which embedder it is."""


async def patient(
    make: Callable[[], Awaitable[Embedder]],
    say: Callable[[str], object],
    sleep: Callable[[float], Awaitable[object]],
) -> Embedder:
    """The embedder, once it works. Whoever ended instead would be started again each time, and say
    the same. `say`: is told why it does not work, when that changes, and that it does at last.
    Raises: as `make`, but for EmbedderError."""
    told, pause = "", _FIRST
    while True:
        try:
            made = await make()
        except EmbedderError as error:
            if str(error) != told:
                told = str(error)
                say(f"the semantic process waits for its embedder: {told} - at `{SETTING}`")
        else:
            if told:
                say("the semantic process has its embedder")
            return made
        await sleep(pause)
        pause = min(2 * pause, LONGEST)
