"""The LMDB file, open in this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import lmdb

from proxy.adapters.disk import tree
from proxy.adapters.disk.place import Place
from proxy.core.events import StoreReset
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from proxy.adapters.disk.tree import Tree, Txn
    from proxy.core.entry import Key
    from proxy.ports import Emit

TIER: Final = "disk"
_SMALLEST: Final = 4 << 20
"""Bytes below which copy-on-write would have no pages to work with."""
_READERS: Final = 2048
"""Two for each worker, and those that killed workers left behind until they are swept out."""
_BROKEN: Final = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
)
"""What LMDB says of a file that will not get better."""


class File:
    """One writer thread and the event loop's thread use it; only `renew` excludes the other. It
    never grows beyond `max_bytes`: that is the size of the map."""

    def __init__(
        self, directory: Path, max_bytes: int, emit: Emit, *, sealed: bool = False
    ) -> None:
        """`sealed`: nothing is to lie there in the clear, also not from before.

        Raises: StoreError.
        """
        self._directory = directory
        self._sealed = sealed
        self._max_bytes = max(max_bytes, _SMALLEST)
        self._emit = emit
        self._mapping = threading.Lock()
        self._broken = self._outgrown = False
        self._shut = True
        self._inode = 0
        self._open()

    @property
    def limit(self) -> int:
        """Bytes in use above which entries are evicted; the rest is for copy-on-write."""
        return self._max_bytes - max(self._max_bytes // 20, _SMALLEST // 4)

    def read(self, keys: Sequence[Key]) -> list[bytes | None]:
        """What is stored under these at one moment, copies. Raises: lmdb.Error."""
        try:
            with self._mapping, self._env.begin(buffers=True) as txn:
                return [tree.read(txn, self._tree, key) for key in keys]
        except lmdb.Error as error:
            self._note(error)
            raise

    @contextmanager
    def look(self) -> Iterator[tuple[Txn, Tree]]:
        """A reading transaction, for a moment only. Raises: lmdb.Error."""
        try:
            with self._mapping, self._env.begin(buffers=True) as txn:
                yield txn, self._tree
        except lmdb.Error as error:
            self._note(error)
            raise

    @contextmanager
    def change(self) -> Iterator[tuple[Txn, Tree]]:
        """A writing transaction, committed at the end; in the writer thread. Raises: lmdb.Error."""
        try:
            with self._env.begin(write=True, buffers=True) as txn:
                yield txn, self._tree
        except lmdb.Error as error:
            self._note(error)
            raise

    def forget_dead_readers(self) -> int:
        """Free the pages that killed processes seem to read; how many of those there were."""
        return self._env.reader_check()

    def condemn(self) -> None:
        """Have it replaced by an empty one at the next renewal."""
        self._broken = True

    def failing(self) -> bool:
        """Whether it has to be renewed: it is broken, not the one that others open, or larger
        than this process can see, because another one was given a larger bound."""
        return self._shut or self._broken or self._outgrown or not self._same()

    def renew(self) -> None:
        """Open what lies there now, or an empty file if this one is broken; in the writer thread.

        Raises: StoreError; another try may succeed.
        """
        with self._mapping:
            self._shut = True
            self._env.close()
            self._place.leave(sound=False)
            self._open()

    def close(self) -> None:
        """Write everything down and leave; in the writer thread."""
        with self._mapping:
            if not self._broken:
                self._env.sync(True)
            self._env.close()
            self._place.leave(sound=not self._broken)

    def _open(self) -> None:
        try:
            place = Place(self._directory, self._max_bytes)
        except OSError as error:
            raise StoreError(TIER, f"cannot open: {type(error).__name__}") from error
        self._place = place
        try:
            with place.entering() as reason:
                # Another worker that met the same damage may have set the file aside already.
                if self._broken and self._same():
                    place.reset()
                    reason = "corrupt"
                reason = self._load() or reason
            self._inode = place.data.stat().st_ino
        except (OSError, lmdb.Error, StoreError) as error:
            place.leave(sound=False)
            raise StoreError(TIER, f"cannot open: {type(error).__name__}") from error
        self._shut = self._broken = self._outgrown = False
        if reason is not None:
            self._emit(StoreReset(TIER, reason))

    def _load(self) -> str | None:
        """Open the file, or a fresh one if it turns out to be unusable; why, or None."""
        try:
            self._env = self._environment()
            self._tree = tree.prepare(self._env, self._sealed)
        except (tree.FormatError, *_BROKEN) as error:
            if not self._place.first:
                raise StoreError(TIER, "others use a file that cannot be read") from error
            if isinstance(error, tree.FormatError):
                self._env.close()
            if _reason(error) == "encryption":
                self._place.discard()
            else:
                self._place.reset()
            self._env = self._environment()
            self._tree = tree.prepare(self._env, self._sealed)
            return _reason(error)
        return None

    def _environment(self) -> lmdb.Environment:
        return lmdb.open(
            str(self._place.directory),
            # 0: as large as others have made it.
            map_size=0 if self._outgrown else self._max_bytes,
            max_dbs=2,
            max_readers=_READERS,
            max_spare_txns=2,
            mode=0o600,
            sync=False,
            # Reading ahead fetches neighbours by key, which have nothing to do with each other.
            readahead=False,
        )

    def _note(self, error: lmdb.Error) -> None:
        self._outgrown |= isinstance(error, lmdb.MapResizedError)
        self._broken |= isinstance(error, _BROKEN)

    def _same(self) -> bool:
        try:
            return self._place.data.stat().st_ino == self._inode
        except OSError:
            return False


def _reason(error: Exception) -> str:
    match error:
        case tree.FormatError(reason=reason):
            return reason
        case lmdb.VersionMismatchError():
            return "version"
        case lmdb.InvalidError():
            return "foreign"
        case _:
            return "corrupt"
