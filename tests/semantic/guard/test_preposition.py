"""A preposition that never stands for the other refuses; a synonym or another wording does not."""

from __future__ import annotations

import pytest

from semantic.guard import preposition
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Songs by children", "Songs for children"),
        ("Reviews of tutors", "Reviews by tutors"),
        ("How do I write for children", "How do I write to children"),
        ("What was said by the judge", "What was said to the judge"),
        ("Is the zoo open until Friday", "Is the zoo open from Friday"),
        ("What can I see from the tower", "What can I see in the tower"),
        ("Who works with the vet", "Who works for the vet"),
        ("How do I pay by invoice", "How do I pay an invoice"),
        ("How do I log in with Zoho", "How do I log in to Zoho"),
        ("Can I take soup on the plane", "Can I take soup off the plane"),
        ("Is there a view of the fort", "Is there a view from the fort"),
        ("Is tax due on the gift", "Is tax due before the gift"),
        ("Rooms with a desk and a sofa", "Rooms with a desk or a sofa"),
        ("The fee per visit", "The fee of the visit"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(preposition.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Books on volcanoes", "Books about volcanoes"),
        ("A song for my niece", "A song to my niece"),
        ("What is open on Sunday", "What is open for Sunday"),
        ("Can I pay by card", "Can I pay with a card"),
        ("Where do I buy tea from the kiosk", "Where do I buy tea at the kiosk"),
        ("How do I link a mouse to a tablet", "How do I link a mouse with a tablet"),
        ("Cook rice in a pot", "Cook rice with a pot"),
        ("How long do I boil eggs for", "How long do I boil eggs"),
        ("The mayor of Leeds", "The mayor in Leeds"),
        ("How do I remove ink from a desk", "How do I get rid of ink on a desk"),
        ("A song by Cher", "A poem about Cher"),
        ("Which is better, a desk or a sofa", "Which is better, a desk and a sofa"),
        ("A place at a primary school", "A primary school place"),
        ("How far is it from Leeds to York", "How far is it between Leeds and York"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(preposition.differ(*pair) for pair in both(asked, stored))
