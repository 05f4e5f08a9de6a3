"""Where Redis is, as its URL says; and what of that may be shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.adapters.redis.url import Address, Target, masked, parse
from proxy.config import ConfigError


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("redis://host", Target("server", (Address("host", 6379),))),
        ("redis://host:7000/3", Target("server", (Address("host", 7000),), db=3)),
        ("redis://[::1]:7000", Target("server", (Address("::1", 7000),))),
        (
            "rediss://me:s%40cret@host:7000/0",
            Target("server", (Address("host", 7000),), tls=True, username="me", password="s@cret"),
        ),
        ("redis://:p@ss:w/rd@host", None),
        ("redis://:secret@host", Target("server", (Address("host", 6379),), password="secret")),
        ("unix:///run/redis.sock", Target("server", (Address("/run/redis.sock"),))),
        (
            "unix://me:secret@/run/redis.sock?db=2",
            Target("server", (Address("/run/redis.sock"),), db=2, username="me", password="secret"),
        ),
        (
            "redis+sentinel://a,b:7000/mymaster/2",
            Target("sentinel", (Address("a", 26379), Address("b", 7000)), service="mymaster", db=2),
        ),
        (
            "rediss+sentinel://:secret@a/mymaster",
            Target(
                "sentinel", (Address("a", 26379),), service="mymaster", tls=True, password="secret"
            ),
        ),
        (
            "redis+cluster://a:7000,b:7001",
            Target("cluster", (Address("a", 7000), Address("b", 7001))),
        ),
    ],
)
def test_a_url_says_where(url: str, target: Target | None) -> None:
    if target is None:
        target = Target("server", (Address("host", 6379),), password="p@ss:w/rd")
    assert parse(url) == target


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host:6379",
        "http://:secret@host",
        "redis://",
        "redis://:secret@",
        "redis://:secret@a,b",
        "redis://host:port:secret",
        "redis://host:70000",
        "redis://host/name",
        "redis://host?password=secret",
        "unix://run/redis.sock",
        "unix:///run/redis.sock?password=secret",
        "redis+sentinel://:secret@a:26379",
        "redis+cluster://:secret@a:7000/1",
    ],
)
def test_what_is_no_url_is_an_error_that_shows_no_password(url: str) -> None:
    with pytest.raises(ConfigError, match=r"expected .*cache\.redis\.url") as caught:
        parse(url)

    assert ":secret@" not in str(caught.value)
    assert "=secret" not in str(caught.value)


def test_settings_go_before_what_the_url_says() -> None:
    target = parse("redis://me:old@host", "you", "new")

    assert (target.username, target.password) == ("you", "new")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:1/2", "redis://host:1/2"),
        ("redis://me:secret@host:1/2", "redis://me:***@host:1/2"),
        ("redis://:secret@host", "redis://:***@host"),
        ("redis://secret@host", "redis://***@host"),
        ("redis+cluster://:a@b:c@h1,h2", "redis+cluster://:***@h1,h2"),
        ("unix:///s?password=secret&db=1", "unix:///s?password=***&db=1"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert masked(url) == shown


@given(
    scheme=st.sampled_from(["redis", "rediss", "unix", "redis+cluster", "nothing"]),
    user=st.text("abc", max_size=3),
    secret=st.text("XYZ@:/?#=&%", min_size=1).filter(lambda text: set(text) & set("XYZ")),
    rest=st.text("h.,:/?1", max_size=12),
)
def test_no_url_shows_its_password(scheme: str, user: str, secret: str, rest: str) -> None:
    url = f"{scheme}://{user}:{secret}@{rest}"

    assert not set("XYZ") & set(masked(url))
    try:
        parse(url)
    except ConfigError as error:
        assert not set("XYZ") & set(str(error))
