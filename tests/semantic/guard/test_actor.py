"""Two who face each other do not act for each other; one who acts, or to whom it is done, may."""

from __future__ import annotations

import pytest

from semantic.guard import actor
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What should a candidate ask", "What should an interviewer ask"),
        ("Which forms must a lender sign", "Which forms must a borrower sign"),
        (
            "What questions should a candidate ask in an interview",
            "Which questions should an interviewer put to applicants",
        ),
        ("As a landlord, how do I end a lease", "As a tenant, how do I end a lease"),
        ("What does the publisher owe", "What does the author owe"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(actor.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What should a candidate ask", "What questions should an applicant ask"),
        ("What should a tenant pay a landlord", "What does the tenant pay the landlord"),
        ("Can a landlord sue a tenant", "Can a tenant be sued by a landlord"),
        ("What should a nurse know", "What should a baker know"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(actor.differ(*pair) for pair in both(asked, stored))
