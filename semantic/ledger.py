"""The ledger: the tracks of all groups, which labels were counted, and both as bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec

from semantic.bound import upper
from semantic.evidence import STEPS, threshold
from semantic.protocol import Kind
from semantic.track import Track, window

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_GROUPS: Final = 1000
"""Clients choose the names of models, and so how many groups there could be."""
MAX_NAMES: Final = 32_768
"""Of labels: one that comes again after so many others counts again."""
_VERSION: Final = 1


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """A track as it is kept."""

    group: str
    kind: Kind
    opened: int
    served: bytes
    waiting: bytes
    looks: int
    ahead: int

    def sound(self, longest: int) -> bool:
        """Whether a track could have left it."""
        return (
            0 <= self.opened <= STEPS
            and self.looks >= 0
            and max(len(self.served), len(self.waiting)) <= longest
            and max(self.served + self.waiting, default=0) < 2 * STEPS
        )


class _Dump(msgspec.Struct, frozen=True, array_like=True):
    version: int
    terms: tuple[str, float, float]
    shadow: bool
    """Nothing was served: all labels are of one population."""
    names: list[bytes]
    tracks: list[_Kept]
    basis: bytes = b""


class Ledger:
    """Bounded: the group that learnt nothing for longest goes first, but one that the evidence
    closed goes last, or it would be open again when it comes back."""

    def __init__(
        self,
        make: Callable[[Kind], Track],
        terms: tuple[str, float, float],
        *,
        shadow: bool,
        basis: bytes = b"",
    ) -> None:
        """`make`: a new track; `terms`: the policy, the budget, the least similarity; `basis`: of
        the labels of neighbours."""
        self._make = make
        self._terms = terms
        self._basis = basis
        self._shadow = shadow
        self._groups: OrderedDict[str, dict[Kind, Track]] = OrderedDict()
        self._names: dict[bytes, None] = {}

    def counted(self, name: bytes) -> bool:
        """Whether a label of this name was here before; from now on it was."""
        if name in self._names:
            return True
        self._names[name] = None
        if len(self._names) > MAX_NAMES:
            del self._names[next(iter(self._names))]
        return False

    def track(self, group: str, kind: Kind) -> Track:
        """To read: one that learns has to be `kept`."""
        found = self._groups.get(group, {}).get(kind)
        return self._make(kind) if found is None else found

    def kept(self, group: str, kind: Kind) -> Track:
        """To learn."""
        tracks = self._groups.setdefault(group, {})
        self._groups.move_to_end(group)
        if kind not in tracks:
            tracks[kind] = self._make(kind)
        if len(self._groups) > MAX_GROUPS:
            del self._groups[self._dullest()]
        return tracks[kind]

    def state(self) -> dict[str, dict[str, float]]:
        """As that of any policy."""
        return {
            group: {
                f"{kind}_{figure}": value
                for kind, track in tracks.items()
                for figure, value in _figures(track).items()
            }
            for group, tracks in self._groups.items()
        }

    def dump(self) -> bytes:
        """All of it."""
        tracks = [
            _Kept(
                group,
                kind,
                track.opened,
                bytes(track.served),
                bytes(track.waiting),
                track.looks,
                track.ahead,
            )
            for group, tracks in self._groups.items()
            for kind, track in tracks.items()
        ]
        names = list(self._names)
        dump = _Dump(_VERSION, self._terms, self._shadow, names, tracks, self._basis)
        return msgspec.msgpack.encode(dump)

    def restore(self, data: bytes) -> bool:
        """Take over what was dumped; of canonical questions alone where neighbours were measured
        on another basis. False where that was so; and, with nothing taken, where it is torn,
        foreign, of another version or policy, or was learnt while serving under another budget."""
        self._groups.clear()
        self._names.clear()
        try:
            dump = msgspec.msgpack.decode(data, type=_Dump)
        except (msgspec.DecodeError, RecursionError):
            return False
        same = dump.terms == self._terms
        if dump.version != _VERSION or not (
            same or (dump.shadow and dump.terms[0] == self._terms[0])
        ):
            return False
        longest = window(dump.terms[1])
        if not all(kept.sound(longest) for kept in dump.tracks):
            return False
        self._names.update(dict.fromkeys(dump.names[-MAX_NAMES:]))
        holds = dump.basis == self._basis
        for kept in dump.tracks:
            if holds or kept.kind == "canonical":
                self._take(kept, same=same)
        return holds

    def _take(self, kept: _Kept, *, same: bool) -> None:
        track = self.kept(kept.group, kept.kind)
        if not same:
            for label in kept.served + kept.waiting:
                track.learn(label >> 1, wrong=bool(label & 1))
            return
        track.opened = max(kept.opened, track.floor)
        track.served, track.waiting = bytearray(kept.served), bytearray(kept.waiting)
        track.looks, track.ahead = kept.looks, kept.ahead

    def _dullest(self) -> str:
        for group, tracks in self._groups.items():
            if not any(track.refuted for track in tracks.values()):
                return group
        return next(iter(self._groups))


def _figures(track: Track) -> dict[str, float]:
    labels, errors = track.figures()
    shut = track.opened == STEPS
    return {
        "threshold": threshold(track.opened),
        "labels": labels,
        "errors": errors,
        "bound": upper(errors, labels),
        "closed": float(shut and errors > 0),
        "unopened": float(shut and errors == 0),
    }
