"""What is in the file: entries by key, and the same keys in the order of their expiry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.core import wire
from proxy.core.entry import Key

if TYPE_CHECKING:
    from typing import TypeAlias

    import lmdb

    Txn: TypeAlias = lmdb.Transaction[memoryview]

_FORMAT: Final = b"format"
_FORMAT_NOW: Final = b"hotprefix-1"
_FORMAT_SEALED: Final = b"hotprefix-1 sealed"
_AGED: Final = b"aged"
_FOREVER: Final = 1e15
"""Seconds that stand for all later times."""
PART: Final = 4080
"""Bytes of a value that stand under one key: what fits into one page. LMDB keeps longer ones in
pages side by side, and a full file of mixed sizes has none free: half of it would have to go for
one long answer. The parts of a value follow it in the order of keys; its digest proves them all."""
_KEY: Final = 32
"""Bytes of a key; those of a value's further parts are longer."""
_TIME: Final = 8
"""Bytes of a time in the index: unix milliseconds, big-endian, so that their order is time's."""


class FormatError(Exception):
    """A sound file that is not ours, or of another version. `reason` is foreign, version, or
    encryption: it is ours, but what is in it was sealed, or was not, other than is asked for."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Tree(NamedTuple):
    """The two tables of the file. Every function below works inside one transaction."""

    entries: lmdb._Database
    expiry: lmdb._Database


def prepare(env: lmdb.Environment, sealed: bool) -> Tree:
    """The tables, made if they are missing. Raises: FormatError."""
    wanted, other = _FORMAT_NOW, _FORMAT_SEALED
    if sealed:
        wanted, other = other, wanted
    with env.begin() as txn:
        marked = txn.get(_FORMAT)
        if marked is None and txn.stat()["entries"]:
            raise FormatError("foreign")
    if marked == other:
        raise FormatError("encryption")
    if marked not in (None, wanted):
        raise FormatError("version")
    tree = Tree(env.open_db(b"entries"), env.open_db(b"expiry"))
    if marked is None:
        with env.begin(write=True) as txn:
            txn.put(_FORMAT, wanted)
    return tree


def read(txn: Txn, tree: Tree, key: Key) -> bytes | None:
    """What is stored under `key`, a copy."""
    first = txn.get(key, db=tree.entries)
    if first is None or len(first) < PART:
        return None if first is None else bytes(first)
    cursor, parts = txn.cursor(db=tree.entries), [first]
    cursor.set_key(key)
    while cursor.next() and _belongs(cursor, key):
        parts.append(cursor.value())
    return b"".join(parts)


def compared(
    txn: Txn, tree: Tree, after: bytes, count: int
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Of the next `count` values after a key those that may be entries with questions, copies, with
    their keys; and the last key that was looked at, empty at the end."""
    cursor, found, key = txn.cursor(db=tree.entries), [], after
    there = cursor.set_range(after + b"\0") if after else cursor.first()
    while there and count:
        key = bytes(cursor.key())
        if len(key) == _KEY:
            count -= 1
            if wire.compared(cursor.value()):
                found.append((key, read(txn, tree, Key(key)) or b""))
        there = cursor.next()
    return found, key if there else b""


def alive(txn: Txn, tree: Tree, key: Key, now: float) -> float | None:
    """When the entry was asked for that has a question and is alive at `now`; its body is not
    read."""
    first = txn.get(key, db=tree.entries)
    return None if first is None else wire.alive(first, now)


def write(txn: Txn, tree: Tree, key: Key, data: bytes, now: float) -> bool:
    """Store `data`, unless something asked for later is there and alive."""
    if (new := wire.peek(data)) is None:
        return False
    # Without looking first: mostly nothing is there.
    if not txn.put(key, data[:PART], db=tree.entries, overwrite=False):
        held = _times(txn, tree, key)
        if held is not None and held[0] > new[0] and held[1] > now:
            return False
        remove(txn, tree, key)
        txn.put(key, data[:PART], db=tree.entries)
    txn.put(_index(new[1], key), b"", db=tree.expiry)
    for number, start in enumerate(range(PART, len(data), PART)):
        part = data[start : start + PART]
        txn.put(key + number.to_bytes(4, "big"), part, db=tree.entries)
    return True


def remove(txn: Txn, tree: Tree, key: Key) -> bool:
    """Forget `key`; whether it was there."""
    held = _times(txn, tree, key)
    if held is not None:
        txn.delete(_index(held[1], key), db=tree.expiry)
    return _cut(txn, tree, key)


def due(txn: Txn, tree: Tree, now: float) -> bool:
    """Whether anything has expired."""
    cursor = txn.cursor(db=tree.expiry)
    return cursor.first() and int.from_bytes(cursor.key()[:_TIME], "big") <= now * 1000


def drop_soonest(txn: Txn, tree: Tree, count: int, before: float) -> int:
    """Drop up to `count` entries that expire until `before`, soonest first; how many it were."""
    cursor, dropped = txn.cursor(db=tree.expiry), 0
    while dropped < count and cursor.first():
        index = bytes(cursor.key())
        if int.from_bytes(index[:_TIME], "big") > before * 1000:
            break
        cursor.delete()
        # An index that outlived a torn entry may name a key that has since been stored anew.
        data = txn.get(index[_TIME:], db=tree.entries)
        times = None if data is None else wire.peek(data)
        if times is None or _index(times[1], b"") == index[:_TIME]:
            _cut(txn, tree, index[_TIME:])
        dropped += 1
    return dropped


def age(txn: Txn) -> None:
    """Commit something: what a transaction frees can be used by the one after the next only."""
    txn.put(_AGED, b"")


def used(txn: Txn, tree: Tree) -> int:
    """Bytes of the pages in use; the file itself never shrinks, its free pages are used again."""
    tables = (txn.stat(), txn.stat(tree.entries), txn.stat(tree.expiry))
    pages = sum(t["branch_pages"] + t["leaf_pages"] + t["overflow_pages"] for t in tables)
    return pages * tables[0]["psize"]


def count(txn: Txn, tree: Tree) -> int:
    """How many entries there are."""
    return txn.stat(tree.expiry)["entries"]


def _cut(txn: Txn, tree: Tree, key: bytes) -> bool:
    cursor = txn.cursor(db=tree.entries)
    there = found = cursor.set_key(key)
    while there and _belongs(cursor, key):
        there = cursor.delete() and bool(cursor.key())
    return found


def _belongs(cursor: lmdb.Cursor[memoryview], key: bytes) -> bool:
    return cursor.key()[: len(key)] == memoryview(key)


def _times(txn: Txn, tree: Tree, key: Key) -> tuple[float, float] | None:
    data = txn.get(key, db=tree.entries)
    return None if data is None else wire.peek(data)


def _index(expires: float, key: bytes) -> bytes:
    # Rounded up: nothing is swept before its time.
    milliseconds = math.ceil(min(max(expires, 0.0), _FOREVER) * 1000)
    return milliseconds.to_bytes(_TIME, "big") + key
