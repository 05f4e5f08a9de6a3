"""What remembers clients' names of anything holds only so many of them."""

from __future__ import annotations

import pytest

from tests.bench.bounds import CASES

NAMES = 100_000
"""More than any of them keeps, also where a tenth has to do, but for the tenants' buckets."""


@pytest.mark.parametrize("case", sorted(CASES))
async def test_what_is_remembered_is_bounded(case: str) -> None:
    held, most = await CASES[case](NAMES)

    assert held <= most
