"""What the state that a fleet shares needs of a link to Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scripts(Protocol):
    """Runs scripts; those of one loop turn travel together."""

    @property
    def silent(self) -> bool:
        """Whether somebody has just waited in vain."""

    def name(self, tag: bytes | str, kind: str) -> bytes:
        """The name of a key. All of one `tag` lie at one server."""

    async def script(
        self,
        text: str,
        keys: Sequence[bytes],
        args: Sequence[bytes | str | int | float],
        *,
        write: bool = False,
    ) -> Any:
        """What the script returned, text as bytes. Raises: StoreError."""
