"""Settings made ready, and settings that cannot be."""

from __future__ import annotations

import pytest

from proxy.config import ConfigError
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


@pytest.mark.parametrize(
    ("text", "secrets", "where"),
    [
        ('[server]\npartition_key_env = "KEY"', {}, "$.server.partition_key_env"),
        (TENANT, {}, "$.tenant[0].key_env"),
        (TENANT, {"BLUE": ""}, "$.tenant[0].key_env"),
        (TENANT + 'upstream_key_env = "UP"', {"BLUE": "sesame"}, "$.tenant[0].upstream_key_env"),
        (TENANT + TENANT.replace("blue", "red"), {"BLUE": "sesame"}, "$.tenant[1].key_env"),
    ],
)
def test_a_secret_that_is_not_there_or_not_one_is_named(
    text: str, secrets: dict[str, str], where: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(text, **secrets)

    assert f"`{where}`" in str(caught.value)
    assert "sesame" not in str(caught.value)
