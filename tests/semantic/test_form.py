"""Canonical questions as digests: equal for the same rules and question, told apart else."""

from __future__ import annotations

from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from semantic.canonical import question
from semantic.form import VERSION, Forms, tells
from semantic.reading import read
from semantic.settings import Settings, Terms
from tests.semantic.ladder import SETS, pairs

FORMS = Forms(Settings())
OTHER = Forms(Settings(terms=Terms(synonyms=(("退货", "退换货"),))))

KNOWN = (5, "b15e717c220c4189")
"""The version, and a digest of the forms of all questions of the sets."""


def form(text: str, forms: Forms = FORMS, terms: Terms | None = None) -> bytes:
    return forms.of(read(text, terms or Terms()))


def test_questions_that_ask_the_same_have_one_form() -> None:
    assert form("怎么退货") == form("退货流程") != form("怎么换货")
    assert tells(form("怎么退货"))


def test_a_question_that_says_too_little_has_a_stamp_and_no_form() -> None:
    assert FORMS.current(form("?"))
    assert not tells(form("?"))


def test_forms_of_other_terms_are_not_current() -> None:
    """After a change of settings what is stored is read anew."""
    assert not OTHER.current(form("怎么退货"))
    for other in (Settings(personal=True), Settings(volatile_ttl=1.0), Settings(max_chars=9)):
        assert not Forms(other).current(form("怎么退货"))
    assert not FORMS.current(b"")


def test_synonyms_make_one_form_of_two() -> None:
    terms = Terms(synonyms=(("退货", "退换货"),))

    assert form("怎么退货", OTHER, terms) == form("怎么退换货", OTHER, terms)
    assert form("怎么退货") != form("怎么退换货")


@given(st.text(max_size=80), st.text(max_size=80))
def test_forms_are_equal_just_where_questions_are(one: str, other: str) -> None:
    first, second = (question(read(text, Terms())) for text in (one, other))
    alike = form(one) == form(other)

    assert alike == (first == second)


def test_rules_do_not_change_under_a_version() -> None:
    """Stored forms are compared with new ones: whoever changes what makes two questions the same
    raises `VERSION`, and puts the digest that this test shows beside it."""
    texts = [text for name in SETS for pair in pairs(name) for text in (pair.a, pair.b)]
    forms = [question(read(text, Terms())) or b"" for text in texts]

    assert (VERSION, blake2b(b"\0".join(forms), digest_size=8).hexdigest()) == KNOWN
