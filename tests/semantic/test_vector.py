"""Rows of length 1, and their stored form."""

from __future__ import annotations

import numpy as np
import pytest

from semantic.vector import packed, unit, unpacked


def test_each_row_is_brought_to_length_1() -> None:
    rows = unit(np.array([[3, 4], [0, -2]]), 2)

    assert rows.dtype == np.float32
    assert rows.tolist() == pytest.approx(np.array([[0.6, 0.8], [0, -1]]))


def test_a_single_vector_is_one_row() -> None:
    assert unit(np.array([2.0, 0.0]), 2).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((2, 3)),
        np.ones((1, 2, 2)),
        np.ones(0),
        np.array([[1.0, 0.0], [0.0, 0.0]]),
        np.array([[np.nan, 1.0]]),
        np.array([[np.inf, 1.0]]),
        np.array([[1e30, 1e30]]),
    ],
    ids=["dimension", "deep", "empty", "zero", "nan", "infinite", "too long to be measured"],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_what_has_no_direction_is_refused(rows: np.typing.NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="expected vectors"):
        unit(rows, 2)


def test_a_stored_vector_has_nearly_the_same_direction() -> None:
    vector = unit(np.random.default_rng(0).standard_normal(512), 512)[0]
    (again,) = unpacked([packed(vector)], 512)

    assert len(packed(vector)) == 1024
    assert float(vector @ again) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("stored", [b"", b"abc", b"\0" * 4, b"\xff" * 4, b"\0\x3c" * 3])
def test_bytes_that_are_no_vector_of_that_dimension_are_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="expected"):
        unpacked([packed(unit(np.ones(2), 2)[0]), stored], 2)
