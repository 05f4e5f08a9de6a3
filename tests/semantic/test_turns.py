"""Turns of one question come out as one; what only looks like a turn stays as it is."""

from __future__ import annotations

import pytest

from semantic.turns import plain


@pytest.mark.parametrize(
    ("asked", "turned"),
    [
        ("how often does a fig need watering", "how often should i water a fig"),
        ("how often should the oil be changed", "how often should i change the oil"),
        ("how should a kettle be descaled", "how to descale a kettle"),
        ("how can rust be removed from a chain", "how to remove rust from a chain"),
        ("how can i be reached", "how can i be reached"),
        ("how can a tenant be evicted by a landlord", "how can a tenant be evicted by a landlord"),
        ("where i can buy stamps", "where can i buy stamps"),
        ("what time it is in oslo", "what time is it in oslo"),
        ("if the kiosk is open on sunday", "is the kiosk open on sunday"),
        ("whether i can bring a dog", "can i bring a dog"),
        ("am i allowed to bring a dog", "can i bring a dog"),
        ("is the tenant allowed to bring a dog", "can the tenant bring a dog"),
        ("is baking bread at home allowed", "can i bake bread at home"),
        ("at what age can a colt race", "what age can a colt race at"),
        ("for how long is milk fresh", "how long is milk fresh"),
        ("at what time does it start", "at what time does it start"),
        ("how does 1 tie a bowline", "how do i tie a bowline"),
        ("how can 1 person lift a kayak", "how can 1 person lift a kayak"),
        ("how many moons does mars have", "how many moons in mars"),
        ("number of moons of mars", "how many moons in mars"),
        ("what is the number of my room", "what is the number of my room"),
        ("which papers are required for a visa", "which papers do i need for a visa"),
        ("how does jam differ from jelly", "what is the difference between jam and jelly"),
        ("difference between jelly and jam", "difference between jam and jelly"),
        ("how are candles made", "how to make candles"),
        ("how are my candles made", "how are my candles made"),
        ("who was emma written by", "who written emma"),
        ("teach a dog to not bark", "teach a dog not to bark"),
        ("i need a recipe for naan", "a recipe for naan"),
        ("i need a plumber", "i need a plumber"),
        ("is it for cats to eat tuna", "can cats eat tuna"),
        ("do you need a visa", "do i need a visa"),
        ("do you have a pool", "do you have a pool"),
        ("sourdough starter how to make", "how to make sourdough starter"),
        ("compose a poem about rain", "write a poem about rain"),
        ("list the moons of mars", "what are the moons of mars"),
        ("the depth of lake como is what", "what is the depth of lake como"),
    ],
)
def test_plain(asked: str, turned: str) -> None:
    assert plain(asked) == turned


@pytest.mark.parametrize("asked", ["", "how", "if", "what is", "who by", "list the", "if it is"])
def test_a_part_of_a_question_is_kept(asked: str) -> None:
    assert plain(asked) == asked
