"""Vectors of length 1: what makes a row one, and the form in which it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""float32 (dimension,), length 1."""
Vectors: TypeAlias = "NDArray[np.float32]"
"""float32 (n, dimension), rows of length 1."""

_STORED: Final = np.dtype("<f2")
_SHORTEST: Final = 1e-6
"""A row below this length points nowhere."""


def unit(rows: NDArray[Any], dimension: int) -> Vectors:
    """The rows, each brought to length 1. A single vector counts as one row.

    Raises: ValueError where the dimension is another, or a row is zero or not finite.
    """
    found = np.atleast_2d(np.asarray(rows, dtype=np.float32))
    if found.ndim != 2 or found.shape[1] != dimension:
        raise ValueError(f"expected vectors of {dimension} numbers, found the shape {rows.shape}")
    lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
    # Not finite is neither shorter nor longer: this order refuses it as well.
    if not np.all((lengths > _SHORTEST) & (lengths < np.inf)):
        raise ValueError("expected vectors with a direction, found one that is zero or not finite")
    scaled: Vectors = found / lengths[:, None]
    return scaled


def packed(vector: Vector) -> bytes:
    """A vector as it is stored: half precision, little-endian."""
    return vector.astype(_STORED).tobytes()


def unpacked(stored: Sequence[bytes], dimension: int) -> Vectors:
    """Stored vectors. Raises: ValueError where one is none of this dimension."""
    for one in stored:
        if len(one) != dimension * _STORED.itemsize:
            raise ValueError(f"expected a vector of {dimension} numbers, found {len(one)} bytes")
    return unit(np.frombuffer(b"".join(stored), _STORED).reshape(-1, dimension), dimension)
