"""What wraps data keys: a key of this process, or one that never leaves its keeper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from proxy.core import sealing

if TYPE_CHECKING:
    from proxy.core.sealing import DataKey


class WrapperError(Exception):
    """A keeper of keys that cannot be asked now."""


class Wrapper(Protocol):
    """A wrapping key. With `waits`, its methods ask somebody else, and belong into a thread."""

    @property
    def id(self) -> bytes: ...

    @property
    def waits(self) -> bool: ...

    def make(self, chance: bytes) -> DataKey:
        """A fresh data key; of `chance` where the wrapper has none of its own.

        Raises: WrapperError.
        """

    def unwrap(self, wrapped: bytes) -> bytes | None:
        """The secret inside; None: this is not the key it was wrapped with, or may not be used.

        Raises: WrapperError: nobody knows now.
        """


class Local:
    """A key from the environment or a file."""

    waits = False

    def __init__(self, master: bytes) -> None:
        self._master = master
        self.id = sealing.identity(master)

    def make(self, chance: bytes) -> DataKey:
        return sealing.wrap(self._master, chance)

    def unwrap(self, wrapped: bytes) -> bytes | None:
        return sealing.unwrap(self._master, wrapped)

    def __repr__(self) -> str:
        return f"<Local {self.id.hex()}>"
