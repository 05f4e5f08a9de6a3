"""Which keys lead nowhere, by what the places said that may hold their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from proxy.core.want import EVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.core.entry import Key

    Told = Mapping[Key, float] | None
    """When the answers were asked for (unix seconds) that a place holds of those it was asked
    about; None: it could not say."""


class Vacancy(NamedTuple):
    """Keys that no place is known to hold."""

    keys: tuple[Key, ...]
    certain: bool = True
    """Whether each place that was asked could say."""

    def after(self, told: Told, since: float = EVER) -> Vacancy:
        """The same when one more place has said what it holds. What was asked for before `since` is
        believed there no more, and nobody is served it."""
        if told is None:
            return self._replace(certain=False)
        return self._replace(keys=tuple(key for key in self.keys if not _held(told, key, since)))

    @property
    def open(self) -> bool:
        """Whether another place need be asked: something is left, and may yet be certain."""
        return bool(self.keys) and self.certain

    @property
    def gone(self) -> tuple[Key, ...]:
        """Those that are nowhere once every place was asked: none where one could not say."""
        return self.keys if self.certain else ()


def _held(told: Mapping[Key, float], key: Key, since: float) -> bool:
    return key in told and told[key] >= since
