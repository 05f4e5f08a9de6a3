"""Rules that rewrite texts, and the shorter way to those that find nothing."""

from __future__ import annotations

import pytest

from semantic import figures, han_turns, spelling, turns
from semantic.rewriting import rewritten, rules
from tests.semantic.ladder import SETS, pairs

TABLES = {
    "turns": turns._RULES,
    "han_turns": han_turns._RULES,
    "figures": figures._FIGURES,
    "spelling": spelling._RULES,
}


def test_each_rule_has_what_the_ones_before_it_made() -> None:
    made = rules([(r"b", "c"), (r"^a(?=c)", "d"), (r"c$", lambda found: found[0].upper())])

    assert rewritten("ab", made) == "dC"
    assert rewritten("ba", made) == "ca"


@pytest.mark.parametrize("name", TABLES)
def test_no_rule_is_passed_over_that_would_have_found_something(name: str) -> None:
    lines = {line.lower() for set_ in SETS for pair in pairs(set_) for line in (pair.a, pair.b)}
    texts = sorted(lines | {word for line in lines for word in line.split()})
    found = 0

    for text in texts:
        plain = text
        for rule in TABLES[name]:
            plain = rule.form.sub(rule.turned, plain)
        assert rewritten(text, TABLES[name]) == plain
        found += plain != text
    assert found > 2
