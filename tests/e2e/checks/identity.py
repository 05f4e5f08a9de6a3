"""Which requests are the same: key, normalization, tenants, unicode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests import answers
from tests.e2e.checks.registry import case
from tests.reply import Reply, Seen, body, events

if TYPE_CHECKING:
    from tests.e2e.steps import Run, Step
    from tests.gateway import Settings
    from tests.upstream import Channel


@case("key-unknown-field")
async def unknown_fields_are_keyed_and_forwarded(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3"]
    sent = [seen.json() for seen in run.upstream.seen]
    assert (sent[0]["num_ctx"], sent[1]["num_ctx"]) == (2048, 8192)
    assert sent[2]["chat_template_kwargs"] == {"thinking": False}


async def restart(run: Run, step: Step) -> None:
    run.gateway.stop()
    run.gateway.start()


def unhurried(steps: list[Step]) -> None:
    steps.insert(1, {"do": "sleep", "s": 0.5})


def diskless(upstream: Channel) -> Settings:
    return {"cache": {"disk": {"path": "off"}}}


@case("key-two-replicas", gateways=2, redis=True, settings=diskless, act=restart, change=unhurried)
async def a_key_is_the_same_in_every_process(run: Run) -> None:
    """Hash seeds differ by default; the first has a moment to write."""
    assert run.texts == ["#1", "#1", "#1"]
    assert run.calls == 1


@case("key-recursive-strip")
async def inert_names_count_below_the_top_level(run: Run) -> None:
    assert run.texts == ["#1", "#2"]


def alias(target: str) -> list[dict[str, Any]]:
    return [{"name": "fast", "target": target}]


async def retarget(run: Run, step: Step) -> None:
    """A reload is a restart here: the disk keeps what the old alias got."""
    run.gateway.stop()
    run.gateway.settings["model"] = alias("m-large")
    run.gateway.start()


@case("key-alias-retarget", settings=lambda upstream: {"model": alias("m-small")}, act=retarget)
async def the_key_has_the_resolved_model(run: Run) -> None:
    assert run.texts == ["#1", "#2"]
    assert [seen.json()["model"] for seen in run.upstream.seen] == ["m-small", "m-large"]


@case("key-completions-options")
async def every_option_of_completions_counts(run: Run) -> None:
    assert [answer.json()["choices"][0]["text"] for answer in run.answers] == ["#1", "#2", "#3"]


@case("key-endpoint")
async def operations_never_share(run: Run) -> None:
    paths = [seen.path for seen in run.upstream.seen]
    assert paths == ["/v1/embeddings", "/v1/responses", "/v1/moderations"]
    assert [answer.json()["object"] for answer in run.answers] == ["list", "response", "echo"]


@case("key-injection-symmetry")
async def what_is_injected_does_not_change_the_key(run: Run) -> None:
    assert run.texts == ["#1", "#1", "#1"]
    assert run.calls == 1
    assert run.upstream.seen[0].json()["stream_options"] == {"include_usage": True}


@case("key-post-body")
async def the_body_decides_and_the_query_belongs_to_it(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3"]
    assert run.upstream.seen[2].target == "/v1/chat/completions?x=1"


@case("key-forwarded-headers")
async def headers_that_change_the_answer_are_keyed(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#3", "#4"]
    assert run.upstream.seen[3].get("accept-language") == "de"
    plain = await run.chat("hdr")
    assert plain.text == "#4"


@case("norm-same-last-turn", semantic=True)
async def the_whole_conversation_counts(run: Run) -> None:
    assert run.texts == ["#1", "#2"]


@case("tn-identical-body")
async def tenants_never_share(run: Run) -> None:
    assert run.texts == ["#1", "#2", "#2"]
    assert run.calls == 2


def halves(data: bytes) -> list[bytes]:
    """Cut inside every character that has more than one byte."""
    pieces, start = [], 0
    for at in range(1, len(data)):
        if data[at] & 0xC0 == 0x80:
            pieces.append(data[start:at])
            start = at
    return [*pieces, data[start:]]


CJK = ["東京は", "晴れ 😀👩‍🚀", "。"]


def cut_characters(upstream: Channel) -> None:
    def script(seen: Seen) -> Reply:
        made = {
            "/v1/chat/completions": answers.chat_events(CJK, usage=answers.USAGE),
            "/v1/responses": answers.response_events(CJK),
            "/v1/completions": answers.completion_events(CJK, usage=True),
        }
        return events(halves(b"".join(made[seen.path])))

    upstream.default = script


@case("un-all-transforms", script=cut_characters)
async def characters_survive_every_path(run: Run) -> None:
    whole = "".join(CJK)
    once = run.answers
    again = [
        *[await run.chat("cjk2", stream=stream) for stream in (True, False)],
        await run.chat("cjk2", stream=True, stream_options={"include_usage": True}),
    ]
    for answer in [*once[:2], *again]:
        assert answer.text == whole
    for answer in (*once, *again):
        assert answer.status == 200
        assert "\ufffd" not in answer.body.decode()
    assert [seen.path for seen in run.upstream.seen].count("/v1/chat/completions") == 1
    assert "".join(CJK[1]) in once[2].body.decode()
    assert CJK[1] in once[3].body.decode()


@case("un-escape-vs-literal")
async def an_escape_is_the_character(run: Run) -> None:
    assert run.texts == ["#1", "#1"]
    assert run.upstream.seen[0].json()["messages"][0]["content"] == "hi \U0001f600"


@case("un-nfc-nfd")
async def look_alikes_never_share(run: Run) -> None:
    """Composed and decomposed forms share by the profile `prose`, and say so."""
    assert run.texts == ["#1", "#1", "#2", "#3"]
    assert run.answers[1].head.get("x-cache-kind") == "normalized"
    sent = [seen.json()["messages"][0]["content"] for seen in run.upstream.seen]
    assert sent == ["café ﬁn １２", "café fin 12", "café\u200b ﬁn １２"]


ODD = (
    b'{"id":"c","object":"chat.completion","created":1,"model":"m-small","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"\\ud800 \\u0000 \xe2\x80\xa8 \xef\xbb\xbf '
    b'\xf0\xa0\x80\x80 \xe2\x80\x8f"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}'
)


def odd(upstream: Channel) -> None:
    upstream.default = body(ODD)


@case("un-raw-replay", script=odd)
async def odd_characters_are_replayed_or_not_stored(run: Run) -> None:
    assert [(answer.status, answer.body) for answer in run.answers] == [(200, ODD)] * 3
