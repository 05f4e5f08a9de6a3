"""Whose rules hold for a node, and what operators lay over them."""

from __future__ import annotations

from datetime import date

import pytest

from proxy.config import ConfigError, parse
from proxy.core.providers import RULES, Providers, Rule


def providers(text: str = "", url: str = "https://api.openai.com/v1", provider: str = "") -> Rule:
    return ruled(text, url, provider, "m")


def ruled(text: str, url: str, provider: str, model: str) -> Rule:
    named = f'provider = "{provider}"\n' if provider else ""
    config = parse(f'[[upstream]]\nname = "a"\nurl = "{url}"\n{named}{text}')
    return Providers(config).rule("a", model)


@pytest.mark.parametrize(
    ("url", "name", "paid"),
    [
        ("https://api.openai.com/v1", "openai", True),
        ("https://API.OpenAI.com:443/v1", "openai", True),
        ("https://mine.openai.azure.com", "azure", True),
        ("https://api.anthropic.com", "anthropic", True),
        ("https://api.deepseek.com/v1", "deepseek", True),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini", True),
        ("https://europe-west4-aiplatform.googleapis.com/v1", "gemini", True),
        ("https://llm.example.org/v1", "unknown", True),
        ("https://api.openai.com.example.org/v1", "unknown", True),
        ("http://127.0.0.1:8000/v1", "engine", False),
        ("http://api.openai.com/v1", "openai", True),
    ],
)
def test_the_host_says_whose_it_is(url: str, name: str, paid: bool) -> None:
    """Nobody is taken for free who may not be."""
    rule = providers(url=url)

    assert (rule.provider, rule.paid) == (name, paid)


def test_an_engine_behind_https_is_named() -> None:
    rule = providers(url="https://gpu.example.org/v1", provider="engine")

    assert (rule.provider, rule.paid, rule.ttl) == ("engine", False, 0.0)


def test_a_provider_that_nobody_knows_is_an_error_that_names_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"did you mean \"anthropic\".*upstream\[0\]"):
        providers(provider="antropic")


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-4-5", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-3-5-haiku-latest", 2048),
        ("claude-opus-4-5", 4096),
        ("claude-haiku-4-5", 4096),
        ("another", 4096),
    ],
)
def test_the_least_prompt_depends_on_the_model(model: str, least: int) -> None:
    rule = ruled("", "https://api.anthropic.com", "", model)

    assert (rule.min_tokens, rule.least_output, rule.marked) == (least, 0, True)
    assert (rule.write, rule.read, rule.ttl) == (1.25, 0.1, 300.0)


def test_a_table_is_laid_over_the_built_in_rule() -> None:
    told = '[[provider]]\nname = "openai"\nprice = 2.5\nttl = "30m"\nmodels = ["m*"]\n'

    assert providers(told).price == 2.5
    assert (providers(told).ttl, providers(told).min_tokens) == (1800.0, 1024)
    assert ruled(told, "https://api.openai.com/v1", "", "other").price == 0.0


def test_the_first_table_that_has_the_model_is_taken() -> None:
    first = '[[provider]]\nname = "openai"\nprice = 1.0\nmodels = ["m"]\n'
    second = '[[provider]]\nname = "openai"\nprice = 9.0\n'

    assert providers(first + second).price == 1.0
    assert ruled(first + second, "https://api.openai.com/v1", "", "x").price == 9.0


def test_a_table_may_name_hosts_of_a_provider_of_its_own() -> None:
    told = '[[provider]]\nname = "cheap"\nhosts = ["*.example.org"]\nread = 0.2\n'
    rule = providers(told, url="https://llm.example.org/v1")

    assert (rule.provider, rule.read, rule.paid) == ("cheap", 0.2, True)


def test_a_node_that_is_not_configured_is_taken_for_paid() -> None:
    assert Providers(parse("")).rule("gone", "m").paid


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.provider} {rule.models[0]}")
def test_every_rule_has_its_date_and_makes_sense(rule: Rule) -> None:
    assert date.fromisoformat(rule.as_of) <= date(2100, 1, 1)
    assert 0 <= rule.read <= rule.write
    assert rule.paid or rule.price == 0
