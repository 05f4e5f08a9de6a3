"""Settings made ready, and settings that cannot be."""

from __future__ import annotations

import pytest

from proxy.config import ConfigError, parse
from proxy.core.quota import Quota
from proxy.core.rules import exchanges
from tests.asking import RULES, configured

TENANT = '[[tenant]]\nname = "blue"\nkey_env = "BLUE"\n'


def test_an_alias_has_the_versions_of_what_it_stands_for() -> None:
    made = configured(
        '[[model]]\nname = "fast"\ntarget = "m"\n'
        '[[model]]\nname = "m"\nmodel_version = "2"\ntemplate_version = "t"'
    )

    assert made.served("fast") == made.served("m")
    assert made.served("m").model_version == "2"
    assert made.served("other").target == "other"


def test_an_alias_may_have_versions_of_its_own() -> None:
    made = configured(
        '[[model]]\nname = "fast"\ntarget = "m"\nmodel_version = "1"\n'
        '[[model]]\nname = "m"\nmodel_version = "2"'
    )

    assert made.served("fast").model_version == "1"


def test_all_spellings_of_controls_are_read_only_where_they_are_taken() -> None:
    made = configured("[cache]\naliases = false")

    assert "helicone-cache-seed" in RULES.read_headers
    assert "helicone-cache-seed" not in made.read_headers
    assert "x-cache-ttl" in made.read_headers


def test_key_headers_are_read_whatever_their_spelling() -> None:
    assert "x-route" in configured('[cache]\nkey_headers = ["X-Route"]').read_headers


def test_the_partition_secret_is_taken_from_its_variable() -> None:
    text = '[server]\npartition_key_env = "KEY"'

    assert len(RULES.secret) == 32
    assert configured(text, KEY="a").secret != configured(text, KEY="b").secret != RULES.secret


def test_a_tenants_ceiling_is_never_above_the_general_one() -> None:
    made = configured(f'[cache]\nmax_ttl = "1h"\n{TENANT}max_ttl = "1d"', BLUE="k")

    assert made.tenants[0].caller.max_ttl == 3600


def test_a_tenant_without_ceiling_has_the_general_one() -> None:
    made = configured(f'[cache]\nmax_ttl = "1h"\n{TENANT}', BLUE="k")

    assert made.tenants[0].caller.max_ttl == 3600


def test_a_rule_without_lifetime_has_the_general_one() -> None:
    made = configured("[cache]\nttl = 50\n[[cache.rule]]\npin = true\n[[cache.rule]]\nttl = 3")

    assert [rule.ttl for rule in made.lifetimes] == [50, 3]


def test_each_exchange_is_known_with_the_setting_that_names_it() -> None:
    text = (
        '[cache]\ncalendars = ["XHKG", "XNYS"]\n[[cache.rule]]\nttl = 5\n'
        '[[cache.rule]]\ncalendar = "XLON"\n[[cache.rule]]\ncalendar = "XNYS"\n'
    )

    assert exchanges(parse(text)) == {
        "XLON": "cache.rule[1].calendar",
        "XNYS": "cache.calendars[1]",
        "XHKG": "cache.calendars[0]",
    }
    assert configured(text).exchanges == {"XLON", "XNYS", "XHKG"}
    assert RULES.exchanges == frozenset()


@pytest.mark.parametrize(
    ("text", "secrets", "where"),
    [
        ('[server]\npartition_key_env = "KEY"', {}, "server.partition_key_env"),
        (TENANT, {}, "tenant[0].key_env"),
        (TENANT, {"BLUE": ""}, "tenant[0].key_env"),
        (TENANT + 'upstream_key_env = "UP"', {"BLUE": "sesame"}, "tenant[0].upstream_key_env"),
        (TENANT + TENANT.replace("blue", "red"), {"BLUE": "sesame"}, "tenant[1].key_env"),
    ],
)
def test_a_secret_that_is_not_there_or_not_one_is_named(
    text: str, secrets: dict[str, str], where: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(text, **secrets)

    assert f"`{where}`" in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_tables_of_one_tenant_have_one_limit() -> None:
    more = TENANT.replace("BLUE", "OTHER") + "tokens_per_minute = 500\n"
    made = configured(f"{TENANT}requests_per_minute = 60\n{more}", BLUE="k", OTHER="l")

    assert [known.caller.quota for known in made.tenants] == [Quota(60, 500)] * 2


def test_tables_of_one_tenant_that_disagree_are_an_error() -> None:
    more = TENANT.replace("BLUE", "OTHER") + "requests_per_minute = 61\n"
    with pytest.raises(ConfigError, match="requests_per_minute"):
        configured(f"{TENANT}requests_per_minute = 60\n{more}", BLUE="k", OTHER="l")
