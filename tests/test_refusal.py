"""What clients are told of failures: a status they know how to take, and when to come back."""

from __future__ import annotations

import pytest

from proxy.ports import UpstreamError
from proxy.refusal import refusal


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("connect", 502, "upstream_error"),
        ("cut", 502, "upstream_error"),
        ("timeout", 504, "upstream_timeout"),
        ("overload", 503, "upstream_unavailable"),
    ],
)
def test_each_kind_of_failure_has_its_status(kind: str, status: int, code: str) -> None:
    refused = refusal(UpstreamError("gpu", kind, "it failed"))

    assert (refused.status, refused.code) == (status, code)


@pytest.mark.parametrize(("seconds", "told"), [(0.0, "1"), (0.2, "1"), (7.2, "8"), (10.0, "10")])
def test_who_is_shed_is_told_when_to_come_back(seconds: float, told: str) -> None:
    refused = refusal(UpstreamError("", "overload", "too much", retry_after=seconds))

    assert refused.headers == (("retry-after", told),)


@pytest.mark.parametrize(("kind", "status"), [("timeout", 504), ("connect", 502), ("cut", 502)])
def test_which_node_gave_no_answer_is_told(kind: str, status: int) -> None:
    told = refusal(UpstreamError("gpu-1", kind, "it failed"))

    assert (told.status, told.headers) == (status, (("x-upstream-node", "gpu-1"),))
    assert refusal(UpstreamError("", kind, "it failed")).headers == ()
