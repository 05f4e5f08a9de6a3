"""What clients ask of the cache, and what it keeps from them: controls, lifetimes, secrets."""

from __future__ import annotations

import asyncio
import base64
import struct
from typing import TYPE_CHECKING, Any

from tests import answers
from tests.e2e.checks.registry import case
from tests.reply import body

if TYPE_CHECKING:
    from tests.e2e.steps import Run, Step
    from tests.gateway import Settings
    from tests.upstream import Channel


def kept(ttl: str, **cache: Any) -> Any:
    """Settings with a plain lifetime: no jitter, no grace."""
    plain = {"stale_while_revalidate": 0, "stale_if_error": 0, "jitter": 0.0, "early_refresh": 0.0}
    return lambda upstream: {"cache": {"ttl": ttl, **plain, **cache}}


def younger(steps: list[Step]) -> None:
    steps[1]["s"], steps[2]["headers"]["cache-control"] = 2.2, "max-age=1"


@case("tt-client-max-age", change=younger)
async def a_client_may_want_it_younger(run: Run) -> None:
    """Two seconds old and one allowed, instead of eight and five."""
    assert run.texts == ["#1", "#2", "#2"]
    assert int(run.answers[2].head.get("age") or -1) in (0, 1)


@case(
    "tt-layers-add-up",
    settings=kept("3s", memory={"ttl": "3s"}),
    gateways=2,
    redis=True,
    scale=0.05,
)
async def a_near_tier_does_not_outlive_the_far_one(run: Run) -> None:
    """A twentieth of the times."""
    assert run.texts == ["#1", "#1", "#2"]


@case("cl-no-store-honoured")
async def no_store_leaves_no_trace(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#2"]
    assert run.answers[0].x_cache == "BYPASS"


@case("cl-only-if-cached")
async def only_if_cached_asks_nobody(run: Run) -> None:
    refused, first, hit = run.answers
    assert refused.status == 504
    assert refused.json()["error"]["code"] == "cache_miss"
    assert (first.text, hit.text) == ("#1", "#1")
    assert run.calls == 1


@case("cl-regenerate")
async def no_cache_gets_a_new_answer_and_keeps_it(run: Run) -> None:
    assert run.texts == ["#1", "#1", "#2"]
    assert (await run.chat("Write a slogan.", temperature=1)).text == "#2"


def numbers(shown: object) -> list[float]:
    if isinstance(shown, list):
        return shown
    data = base64.b64decode(str(shown))
    return list(struct.unpack(f"<{len(data) // 4}f", data))


@case("cl-embed-default-base64")
async def an_embedding_has_the_form_asked_for(run: Run) -> None:
    shown = [answer.json()["data"][0]["embedding"] for answer in run.answers]
    assert [type(one) for one in shown] == [str, str, list, list, list]
    assert [numbers(one) for one in shown[:4]] == [answers.vector("Hello")] * 4
    assert numbers(shown[4]) == answers.vector("Hello", 8)
    assert run.calls <= 4


def check_items(run: Run, inputs: list[list[Any]]) -> None:
    for answer, items in zip(run.answers, inputs, strict=True):
        data = answer.json()["data"]
        assert [item["index"] for item in data] == list(range(len(items)))
        assert [item["embedding"] for item in data] == [answers.vector(item) for item in items]
        assert answer.json()["usage"]["prompt_tokens"] >= 0


@case("cl-embed-index")
async def vectors_follow_their_texts(run: Run) -> None:
    check_items(run, [["a", "b", "c"], ["a", "b", "z"], ["y", "a", "x", "b"]])
    asked = [seen.json()["input"] for seen in run.upstream.seen]
    assert asked == [["a", "b", "c"], ["z"], ["y", "x"]]


@case("cl-embed-duplicates")
async def repeats_and_token_lists_keep_their_places(run: Run) -> None:
    check_items(run, [["a"], ["b", "a", "c", "a", ""], [[1, 2, 3], [1, 2, 3]], ["a"]])
    assert run.calls == 3


def picture(steps: list[Step]) -> None:
    url = steps[0]["body"]["messages"][0]["content"][1]["image_url"]
    url["url"] = url["url"].replace("<6 MB of base64>", "iVBO" * (6 << 18))


@case("cl-too-large-body", change=picture, settings=lambda upstream: {"log": {"requests": True}})
async def a_large_body_passes_and_an_endless_one_does_not(run: Run) -> None:
    passed, refused = run.answers
    assert passed.text == "#1"
    assert refused.status == 413
    assert set(refused.json()["error"]) == {"message", "type", "param", "code"}
    assert max(run.gateway.resident()) < 250_000_000


def tenants(*names: str) -> Settings:
    tables = {
        "K1": {"name": "t1", "key_env": "K1"},
        "K2": {"name": "t2", "key_env": "K2"},
        "K1-without-model-access": {"name": "t1", "key_env": "K3", "models": ["other"]},
    }
    return {"tenant": [tables[name] for name in names]}


def keys(upstream: Channel) -> dict[str, str]:
    key = upstream.key
    return {"K1": key, "K2": f"{key}-K2", "K3": f"{key}-K1-without-model-access"}


async def revoke(run: Run, step: Step) -> None:
    """By taking the key out of the configuration; the disk keeps the answer."""
    run.gateway.stop()
    run.gateway.settings |= tenants("K2", "K1-without-model-access")
    run.gateway.start()


@case(
    "se-cache-before-auth",
    settings=lambda upstream: tenants("K1", "K2", "K1-without-model-access"),
    env=keys,
    act=revoke,
)
async def a_hit_is_only_for_who_may_ask(run: Run) -> None:
    assert [answer.status for answer in run.answers] == [200, 401, 401, 403]
    assert run.calls == 1


def told_once(upstream: Channel) -> None:
    given = [
        ("Set-Cookie", "s=1"),
        ("x-request-id", "up-1"),
        ("x-ratelimit-remaining-requests", "7"),
        ("openai-organization", "org-1"),
        ("Date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("Server", "up"),
        ("Via", "1.1 up"),
    ]
    upstream.default = body(answers.chat("hd"), *given)


@case("se-stored-headers", script=told_once)
async def a_hit_has_no_header_of_the_first_client(run: Run) -> None:
    miss, hit = run.answers
    assert miss.head.get("set-cookie") == "s=1"
    assert hit.x_cache == "HIT"
    for name in ("set-cookie", "x-ratelimit-remaining-requests", "server", "via"):
        assert hit.head.get(name) is None
    assert hit.head.get("openai-organization") is None
    assert hit.head.get("x-request-id") not in (None, "up-1")
    assert hit.head.get("date") != "Thu, 01 Jan 1970 00:00:00 GMT"


@case("se-401-leak", settings=lambda upstream: tenants("K1"), env=keys)
async def a_refusal_tells_nothing(run: Run) -> None:
    (answer,) = run.answers
    assert answer.status == 401
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    told = answer.body.decode() + run.gateway.stdout() + run.gateway.stderr()
    for secret in ("wrong-123456", "123456", run.upstream.token, "/proxy/", "Traceback"):
        assert secret not in told
    assert run.calls == 0


async def look_around(run: Run, step: Step) -> None:
    """There is no route that shows or sets an upstream; these are what an attacker would try."""
    if "set" in step["what"]:
        return
    await run.chat("a secret prompt")
    for path in ("/admin/config", "/admin/stats", "/metrics", "/healthz", "/debug"):
        run.outputs.append(run.gateway.admin(path)[1])


def own_key(upstream: Channel) -> Settings:
    return {"upstream": [{"name": "mock", "url": upstream.url, "key_env": "UPSTREAM_KEY"}]}


@case(
    "ad-no-secrets",
    settings=own_key,
    env=lambda upstream: {"UPSTREAM_KEY": f"sk-up-{upstream.token}"},
    act=look_around,
)
async def no_output_has_a_secret(run: Run) -> None:
    await asyncio.sleep(0.2)
    assert run.upstream.seen[0].get("authorization") == f"Bearer sk-up-{run.upstream.token}"
    told = "".join((*run.outputs, run.gateway.stdout(), run.gateway.stderr()))
    assert "hotprefix_requests_total" in told
    assert run.upstream.token not in told
    assert "a secret prompt" not in told


def small_memory(upstream: Channel) -> Settings:
    """Room for about ten entries."""
    return {"cache": {"disk": {"path": "off"}, "memory": {"max_bytes": 16_000}}}


@case("fa-update-at-capacity", settings=small_memory)
async def replacing_an_entry_evicts_no_other(run: Run) -> None:
    """The limit is in bytes and no entry may fill it alone: it is filled up first."""
    assert run.answers[-1].x_cache == "HIT"
    assert run.calls == 7
    prompts = [f"filler {i}" for i in range(30)]
    for prompt in prompts:
        await run.chat(prompt)

    held = await present(run, prompts)
    assert 2 < len(held) < 30
    for _ in range(5):
        await run.chat(held[-1], ("Cache-Control", "no-cache"))
    assert await present(run, held) == held


async def present(run: Run, prompts: list[str]) -> list[str]:
    asked = ("Cache-Control", "only-if-cached")
    return [prompt for prompt in prompts if (await run.chat(prompt, asked)).status == 200]
