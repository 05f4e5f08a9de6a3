"""What leads nowhere is told by all places together, and by none that could not say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.vacancy import Vacancy
from tests.stored import NOW, key

A, B, C = key("a"), key("b"), key("c")


def test_what_no_place_holds_is_gone() -> None:
    found = Vacancy((A, B, C)).after({A: NOW}).after({C: NOW})

    assert found.gone == (B,)


def test_nothing_is_gone_where_a_place_could_not_say() -> None:
    for told in ([None, {A: NOW}], [{A: NOW}, None]):
        found = Vacancy((A, B))
        for one in told:
            found = found.after(one)

        assert found.gone == ()
        assert not found.open


def test_what_was_asked_for_before_a_time_is_believed_there_no_more() -> None:
    found = Vacancy((A, B)).after({A: NOW - 1.0, B: NOW}, NOW)

    assert found.gone == (A,)


def test_another_place_is_asked_while_something_is_left() -> None:
    assert Vacancy((A,)).open
    assert not Vacancy((A,)).after({A: NOW}).open
    assert not Vacancy(()).open


places = st.lists(st.none() | st.dictionaries(st.sampled_from([A, B, C]), st.just(NOW)), max_size=5)


@given(places)
def test_a_key_is_gone_only_if_every_place_said_that_it_has_none(
    told: list[dict[object, float] | None],
) -> None:
    found = Vacancy((A, B, C))
    for one in told:
        found = found.after(one)  # type: ignore[arg-type]

    held = {key for one in told if one for key in one}
    expected = set() if None in told else {A, B, C} - held
    assert set(found.gone) == expected
