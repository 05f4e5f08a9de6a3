"""A queue that is fair between tenants: each has its turn, and of its own the oldest is first."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class Fair(Generic[T]):
    """Waiting items, at most `limit`. Tenants take turns, in the order in which they came."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._lines: OrderedDict[bytes, deque[T]] = OrderedDict()

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        for line in self._lines.values():
            yield from line

    def push(self, tenant: bytes, item: T) -> T | None:
        """Let it wait. What has no room any more, if anything: of the tenant that has the most
        waiting, the newest, which may be the item itself."""
        self._lines.setdefault(tenant, deque()).append(item)
        self._size += 1
        if self._size <= self._limit:
            return None
        most = max(map(len, self._lines.values()))
        longest = tenant
        if len(self._lines[tenant]) < most:
            longest = next(name for name, line in self._lines.items() if len(line) == most)
        dropped = self._lines[longest][-1]
        self._taken(longest, dropped)
        return dropped

    def pop(self, fits: Callable[[T], bool]) -> T | None:
        """Of the first tenant that has one that fits, the oldest; that tenant's turn is over."""
        for tenant, line in self._lines.items():
            for item in line:
                if fits(item):
                    self._taken(tenant, item)
                    if tenant in self._lines:
                        self._lines.move_to_end(tenant)
                    return item
        return None

    def remove(self, tenant: bytes, item: T) -> bool:
        """It waits no more; False: it did not wait."""
        if item not in self._lines.get(tenant, ()):
            return False
        self._taken(tenant, item)
        return True

    def _taken(self, tenant: bytes, item: T) -> None:
        line = self._lines[tenant]
        line.remove(item)
        self._size -= 1
        if not line:
            del self._lines[tenant]
