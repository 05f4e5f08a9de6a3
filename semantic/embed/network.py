"""The network of the default embedder: its published weights, run for one question at a time.

The package that brings them runs them too, to the same vectors but for rounding (1e-6), yet takes
half as long again for a single question. That is mostly spent on weights, 13 MB, which whatever
else runs has pushed out of the caches since the last one. Here they lie in one block of large
pages, and are multiplied in parts that OpenBLAS takes as they lie: in larger ones it would first
copy all weights into an order of its own.

What a token gives by itself, before its neighbours are seen, is half of the work and a third of the
weights. People use few words often: it is remembered for the latest.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Numbers = NDArray[np.float32]
    Places = NDArray[np.int64]
    Tokens = Sequence[int]

_CHUNKS: Final = 17
"""Parts of the table of tokens, each with a scale of its own: a token's is its rest by 17."""
_ROWS: Final = 7530
"""Tokens of each part."""
_WIDE: Final = 512
"""Numbers of a token, and of a vector."""
_DEEP: Final = 256
"""Numbers of a token in a branch."""
_BRANCHES: Final = ((2, 0), (3, 1), (5, 2))
"""How many neighbouring tokens each sees at once, and how many of them stand before a token."""
_FEATURES: Final = _WIDE + len(_BRANCHES) * _DEEP
"""Numbers of a token among others: its own, and what each branch sees."""
_ALONE: Final = _FEATURES + sum(order for order, _ in _BRANCHES) * _DEEP
"""Numbers of a token by itself: the same, and what it gives to each token that sees it."""
_KNOWN: Final = 1024
"""Tokens that are remembered, 15 kB each."""
_GAP: Final = 2
"""Empty rows between two questions, so that neither is seen from the other."""
_BUDGET: Final = 384
"""Tokens that are computed together: what is made of them stays in the cache."""
_PAGE: Final = 2 << 20
"""Bytes of a large page."""
_PARTS: Final = (_DEEP, _DEEP // 2, _DEEP // 4)
"""Columns that may be multiplied at once; fewer cost more than they spare."""
_UNPACKED: Final = 1_000_000
"""Multiplications up to which OpenBLAS, where it knows how, takes factors as they lie."""


class Network:
    """Tokens in, vectors of length 1 out: what three branches see in them, summed, four layers."""

    def __init__(self, file: Path) -> None:
        """`file`: the weights, which are taken for those that are pinned. Raises: OSError."""
        self._table = np.empty((_CHUNKS * _ROWS, _WIDE), np.uint8)
        with np.load(file, allow_pickle=False) as stored:
            for chunk in range(_CHUNKS):
                self._table[chunk::_CHUNKS] = stored[f"q{chunk + 1}"]
            named = {name: stored[name] for name in stored.files if not name.startswith("q")}
        orders = [order for order, _ in _BRANCHES]
        self._bias, self._gain, self._shift = (
            np.concatenate([named[f"{kind}{order}"] for order in orders])
            for kind in ("proj_b", "ln_g", "ln_b")
        )
        self._eps = float(named["eps"])
        large = {name: array for name, array in named.items() if array.ndim == 2}
        self._known: OrderedDict[int, Numbers] = OrderedDict()
        self._of = named | dict(zip(large, _together(list(large.values())), strict=True))

    def encode(self, questions: Sequence[Tokens]) -> Numbers:
        """A row for the tokens of each question; there is a question, and each has tokens. May be
        called by several threads at once."""
        return np.concatenate([self._encode(group) for group in _groups(questions)])

    def _encode(self, questions: Sequence[Tokens]) -> Numbers:
        lengths = np.array([len(question) for question in questions])
        starts = np.cumsum(lengths + _GAP) - lengths - _GAP
        gaps = (starts[1:, None] - np.arange(1, _GAP + 1)).ravel()
        between = (0,) * _GAP  # any token: its row is emptied wherever it would be seen
        tokens = [*chain.from_iterable((*one, *between) for one in questions)][:-_GAP]
        rows = self._features(tokens, gaps)
        _normalize(rows, self._of["ln_g"], self._of["ln_b"], self._eps)
        rows[gaps] = 0.0
        return self._layers(np.add.reduceat(rows, starts, axis=0), lengths.astype(np.float32))

    def _features(self, tokens: Tokens, gaps: Places) -> Numbers:
        """Of each token: itself, and what each branch sees around it, in two layers."""
        count = len(tokens)
        alone = np.zeros((count + 2 * _GAP, _ALONE), np.float32)
        np.stack(self._known_rows(tokens), out=alone[_GAP:-_GAP])
        alone[_GAP:-_GAP][gaps] = 0.0
        found = alone[_GAP:-_GAP, :_FEATURES].copy()
        around, column = np.zeros((count + 2 * _GAP, _DEEP), np.float32), _FEATURES
        for branch, (order, before) in enumerate(_BRANCHES):
            given = found[:, _columns(_WIDE, branch)]
            first = _GAP - before
            made = self._of[f"b1_{order}"] + sum(
                alone[first + place : first + place + count, _columns(column, place)]
                for place in range(order)
            )
            column += order * _DEEP
            around[_GAP:-_GAP] = _seen(made, given)
            around[_GAP:-_GAP][gaps] = 0.0
            window = around[first : first + count + order - 1]
            windows = sliding_window_view(window, count, axis=0).swapaxes(1, 2)
            made = _times(_split(windows), self._of[f"w2_{order}"])
            made += self._of[f"b2_{order}"]
            given[:] = _seen(made, around[_GAP:-_GAP])
        return found

    def _known_rows(self, tokens: Tokens) -> list[Numbers]:
        """What `_alone` says of each."""
        once = dict.fromkeys(tokens)
        rows = {token: row for token in once if (row := self._known.pop(token, None)) is not None}
        if new := [token for token in once if token not in rows]:
            # A view would keep the rows of all.
            rows |= {token: row.copy() for token, row in zip(new, self._alone(new), strict=True)}
        self._known.update(rows)
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        return [rows[token] for token in tokens]

    def _alone(self, tokens: Tokens) -> Numbers:
        """Of each token: itself, where each branch begins, and for each place from which it is seen
        in a branch, what it adds there."""
        made, places = np.empty((len(tokens), _ALONE), np.float32), np.array(tokens)
        own, seen, chunk = made[:, :_WIDE], made[:, _WIDE:_FEATURES], places % _CHUNKS
        np.multiply(self._table[places], self._of["scale"][chunk, None], out=own)
        own += self._of["lo"][chunk, None]
        split, column = _split(own[None]), _FEATURES
        for branch, (order, _) in enumerate(_BRANCHES):
            seen[:, _columns(0, branch)] = _times(split, self._of[f"proj{order}"])
        seen += self._bias
        _normalize(seen, self._gain, self._shift, self._eps)
        for branch, (order, _) in enumerate(_BRANCHES):
            factors = _split(seen[None, :, _columns(0, branch)])
            for weights in self._of[f"w1_{order}"].reshape(order, _DEEP, _DEEP):
                made[:, _columns(column, 0)] = _times(factors, weights)
                column += _DEEP
        return made

    def _layers(self, sums: Numbers, lengths: Numbers) -> Numbers:
        """From sums over tokens to vectors."""
        of = self._of
        mean = sums @ of["cnn_W"]
        mean += lengths[:, None] * of["cnn_b"]
        mean *= np.reciprocal(np.sqrt(lengths))[:, None]
        first = np.maximum(mean @ of["d0"], 0.0)
        second = np.maximum(mean @ of["p1"] + first @ of["d1"], 0.0)
        third = np.maximum(second @ of["d2"], 0.0)
        rows: Numbers = np.tanh(second @ of["p3"] + third @ of["d3"])
        squares = np.einsum("ij,ij->i", rows, rows)
        rows *= np.reciprocal(np.sqrt(np.maximum(squares, self._eps)))[:, None]
        return rows


def _groups(questions: Sequence[Tokens]) -> Iterator[Sequence[Tokens]]:
    """As many as the budget allows; a longer one alone."""
    start = held = 0
    for place, question in enumerate(questions):
        if held and held + len(question) > _BUDGET:
            yield questions[start:place]
            start, held = place, 0
        held += len(question)
    yield questions[start:]


def _together(arrays: Sequence[Numbers]) -> list[Numbers]:
    """The same arrays in one block: numpy asks for large pages where a block is large."""
    block = np.empty(sum(array.size for array in arrays) + _PAGE // 4, np.float32)
    first, found = -block.ctypes.data % _PAGE // 4, []
    for array in arrays:
        place = block[first : first + array.size].reshape(array.shape)
        place[...] = array
        found.append(place)
        first += array.size
    return found


def _split(factors: Numbers) -> NDArray[Any]:
    """Factors (n, rows, columns) as (n, parts, rows, columns of a part); a view."""
    count, rows, _ = factors.shape
    small = (part for part in _PARTS if rows * part * _DEEP <= _UNPACKED)
    # What is copied anyway is copied at best as a whole.
    return factors.reshape(count, rows, -1, next(small, _DEEP)).swapaxes(1, 2)


def _times(factors: NDArray[Any], weights: Numbers) -> Numbers:
    """The split factors, side by side, times the weights."""
    count, parts, _, part = factors.shape
    made: Numbers = factors @ weights.reshape(count, parts, part, -1)
    total: Numbers = made.sum(axis=(0, 1))
    return total


def _columns(start: int, number: int) -> slice:
    """The `number`th part of a row that is divided from `start` on."""
    return slice(start + number * _DEEP, start + (number + 1) * _DEEP)


def _seen(made: Numbers, given: Numbers) -> Numbers:
    """What a layer makes, in place, beside what it was given."""
    np.maximum(made, 0.0, out=made)
    made += given
    return made


def _normalize(rows: Numbers, gain: Numbers, shift: Numbers, eps: float) -> None:
    """In place: each row to the mean 0 and the variance 1, then scaled and shifted."""
    rows -= rows.mean(axis=-1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / rows.shape[-1]
    rows *= np.reciprocal(np.sqrt(variance + eps))[:, None]
    rows *= gain
    rows += shift
