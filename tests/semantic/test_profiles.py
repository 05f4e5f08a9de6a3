"""The bars that hold before anything was measured."""

from __future__ import annotations

from typing import get_args

import pytest

from semantic.profiles import threshold, threshold_alike
from semantic.settings import Profile

LANGUAGES = ("en", "zh", "other")
EMBEDDERS = ("use", "e5", "http:http://127.0.0.1/v1/embeddings")


@pytest.mark.parametrize("embedder", EMBEDDERS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_relaxed_profile_asks_for_least(embedder: str, language: str) -> None:
    strict, balanced, relaxed = (threshold(p, embedder, language) for p in get_args(Profile))

    assert 1.0 > strict >= balanced >= relaxed > 0.8
    assert balanced > relaxed


@pytest.mark.parametrize("embedder", EMBEDDERS)
@pytest.mark.parametrize("profile", get_args(Profile))
def test_a_language_that_no_guard_reads_asks_for_most(embedder: str, profile: Profile) -> None:
    assert threshold(profile, embedder, "other") > threshold(profile, embedder, "zh")
    assert threshold_alike(profile, embedder, "other") == threshold(profile, embedder, "other")


@pytest.mark.parametrize("language", ("en", "zh"))
def test_questions_of_the_same_words_need_less(language: str) -> None:
    for embedder in EMBEDDERS:
        for profile in get_args(Profile):
            assert threshold_alike(profile, embedder, language) < threshold(
                profile, embedder, language
            )
