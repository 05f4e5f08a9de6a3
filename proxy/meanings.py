"""What the path asks of the semantic tier; and the tier of who has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from proxy.core.decision import Outcome
    from proxy.core.entry import Entry, Key
    from proxy.core.near import Blamed
    from proxy.core.request import Lookup


class Meanings(Protocol):
    """What the path asks of this tier."""

    async def near(self, exact: Outcome, lookup: Lookup, request: str) -> Outcome:
        """In place of a miss, an answer to a question that means the same, if there is one."""

    def noted(self, entry: Entry, lookup: Lookup) -> Entry:
        """The entry, with its question if it may answer others."""

    def stored(self, entry: Entry, lookup: Lookup) -> None:
        """It can be found from now on."""

    def gone(self, key: Key) -> None:
        """There is no answer under this key any more."""

    async def blame(self, request: str) -> Blamed | None:
        """What follows since somebody calls the hit of a request wrong: its answers have to go.
        None: no such hit is known (any more). Raises: StoreError: nobody can say."""


class NoMeaning:
    """For who has no semantic tier."""

    async def near(self, exact: Outcome, lookup: Lookup, request: str) -> Outcome:
        """There is none."""
        return exact

    def noted(self, entry: Entry, lookup: Lookup) -> Entry:
        """As it is."""
        return entry

    def stored(self, entry: Entry, lookup: Lookup) -> None:
        """Nobody wants to know."""

    def gone(self, key: Key) -> None:
        """Nobody wants to know."""

    async def blame(self, request: str) -> Blamed | None:
        """No hit is by meaning."""
        return None
