"""A token bucket as a value: what may be spent now, and when more may be.

A `rate` is what flows in within a minute, and also all that the bucket holds.
"""

from __future__ import annotations

from typing import Final

import msgspec

_MINUTE: Final = 60.0
_HAIR: Final = 1e-4
"""By so much sums of fractions may miss what is there."""


class Bucket(msgspec.Struct, frozen=True, gc=False):
    """What was in it at a time."""

    level: float
    """May be below 0: what was spent before its price was known is a debt."""
    at: float
    """Seconds, by any clock."""


class Spent(msgspec.Struct, frozen=True, gc=False):
    """What one gateway took out of a bucket that others take from too."""

    amount: float
    """Below 0: more was given back than taken."""
    rate: float


def full(rate: float, now: float) -> Bucket:
    """A bucket that nothing was taken from."""
    return Bucket(rate, now)


def level(bucket: Bucket, rate: float, now: float) -> float:
    """What is in it now. A clock that went back lets nothing flow."""
    return min(rate, bucket.level + rate / _MINUTE * max(0.0, now - bucket.at))


def taken(bucket: Bucket, rate: float, amount: float, now: float) -> Bucket:
    """After `amount` was taken, be it there or not; of what is given back, too much is lost."""
    return Bucket(min(rate, level(bucket, rate, now) - amount), now)


def wait(bucket: Bucket, rate: float, amount: float, now: float) -> float:
    """Seconds until `amount` may be taken; more than a bucket holds may be when it is full."""
    missing = min(amount, rate) - level(bucket, rate, now)
    return missing * _MINUTE / rate if missing > _HAIR else 0.0
