"""An embedder behind HTTP: a small real server, in all its moods."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from semantic.embed.choose import embedder
from semantic.embed.port import EmbedderError
from semantic.embed.remote import Place, Remote, place
from semantic.vector import unit
from tests.semantic.models import DIMENSION, rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEXTS = ["one", "two", "three"]


class Api:
    """An embeddings API. The first part of the path says how it behaves."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.turned = False

    async def serve(self, request: web.Request) -> web.StreamResponse:
        mood, body = request.match_info["mood"], await request.json()
        self.asked.append(body)
        self.headers.append(dict(request.headers))
        match mood:
            case "hang":
                await asyncio.sleep(60)
            case "broken":
                return web.Response(status=500, text=f"cannot do {body['input']}")
            case "text":
                return web.Response(text="hello")
            case "away":
                raise web.HTTPTemporaryRedirect("/ok/v1/embeddings")
            case "strict" if len(max(body["input"], key=len)) > 200:
                return web.Response(status=400, text="too long")
            case _:
                pass
        items = self.items(mood, body["input"])
        return web.Response(text=json.dumps({"object": "list", "data": items}))

    def items(self, mood: str, texts: list[str]) -> list[dict[str, Any]]:
        seen = [self.seen(mood, text) for text in texts]
        vectors = rows(seen)
        if mood == "unsteady":
            vectors = vectors + len(texts)
        if mood == "nan":
            vectors[-1, 0] = np.nan
        if mood == "huge":
            vectors = vectors.astype(np.float64) * 1e300
        self.turned |= texts == ["now all are one"]
        if mood == "constant" or (mood == "turning" and self.turned):
            vectors[:] = 1.0
        items: list[dict[str, Any]] = [
            {"object": "embedding", "index": index, "embedding": vector.tolist()}
            for index, vector in enumerate(vectors)
        ]
        if mood == "base64" or mood == "base64nan":
            vectors[-1, 0] = np.nan if mood == "base64nan" else vectors[-1, 0]
            for item, vector in zip(items, vectors, strict=True):
                item["embedding"] = base64.b64encode(vector.astype("<f4").tobytes()).decode()
        if mood in ("fewer", "unnumbered and fewer"):
            items.pop()
        if mood == "twice":
            items[-1]["index"] = 0
        if mood in ("unnumbered", "unnumbered and fewer"):
            for item in items:
                del item["index"]
        return items[::-1] if mood == "shuffled" else items

    def seen(self, mood: str, text: str) -> str:
        """What of the text reaches the vector."""
        if mood == "english":
            return "".join(one if one < "\u0100" else "?" for one in text)
        return text[:150] if mood == "cut" else text


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def server(api: Api) -> AsyncIterator[TestServer]:
    app = web.Application()
    app.router.add_post("/{mood}/v1/embeddings", api.serve)
    started = TestServer(app)
    async with started:
        yield started


def url(server: TestServer, mood: str, query: str = "model=m") -> str:
    return f"{server.make_url('/')}{mood.replace(' ', '%20')}/v1/embeddings?{query}"


def remote(server: TestServer, mood: str, timeout: float = 5.0) -> Remote:
    return Remote(place(url(server, mood), {}), timeout=timeout)


@pytest.mark.parametrize("mood", ["ok", "shuffled", "unnumbered", "base64"])
async def test_each_text_gets_its_own_vector(server: TestServer, mood: str) -> None:
    async with aclosing(remote(server, mood)) as opened:
        found = await opened.embed(TEXTS)

    assert found == pytest.approx(unit(rows(TEXTS), DIMENSION), abs=1e-6)


@pytest.mark.parametrize(
    ("mood", "said"),
    [
        ("nan", "not one of an embeddings API"),
        ("base64nan", "not finite"),
        ("huge", "not finite"),
        ("fewer", "do not belong"),
        ("twice", "do not belong"),
        ("unnumbered and fewer", "1 embeddings for 2 texts"),
        ("broken", "answered 500"),
        ("text", "not one of an embeddings API"),
        ("away", "answered 307"),
        ("strict", "answered 400"),
    ],
)
async def test_an_answer_without_all_vectors_is_an_error(
    server: TestServer, mood: str, said: str
) -> None:
    """Which says what was wrong, and not what was asked."""
    secret = "secret " * 40
    async with aclosing(remote(server, mood)) as opened:
        with pytest.raises(EmbedderError, match=said) as caught:
            await opened.embed(["one", secret])

    assert "secret" not in str(caught.value)


async def test_a_server_that_hangs_is_given_up(server: TestServer) -> None:
    async with aclosing(remote(server, "hang", timeout=0.2)) as opened:
        with pytest.raises(EmbedderError, match="TimeoutError"):
            await opened.embed(["one"])


async def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(EmbedderError, match="ClientConnectorError"):
        await embedder("http://127.0.0.1:9/v1/embeddings?model=m", {})


async def test_what_is_behind_a_url_is_tried_at_the_start(server: TestServer) -> None:
    async with aclosing(await embedder(f"http:{url(server, 'ok')}", {})) as opened:
        assert opened.dimension == DIMENSION
        assert opened.languages is None
        assert opened.batches
        assert opened.takes("怎么退货")
        assert opened.whole("a" * 400)
        assert not opened.whole("a" * 401)
        assert not opened.whole("😀" * 350)


async def test_one_without_chinese_takes_none(server: TestServer) -> None:
    async with aclosing(await embedder(url(server, "english"), {})) as opened:
        assert opened.languages == frozenset({"en"})
        assert not opened.takes("怎么退货")


@pytest.mark.parametrize(("mood", "longest"), [("cut", 100), ("strict", 200)])
async def test_what_is_cut_or_refused_is_not_whole(
    server: TestServer, mood: str, longest: int
) -> None:
    async with aclosing(await embedder(url(server, mood), {})) as opened:
        assert opened.whole("a" * longest)
        assert not opened.whole("a" * (longest + 1))


async def test_one_whose_batches_change_vectors_is_not_to_be_batched(server: TestServer) -> None:
    async with aclosing(await embedder(url(server, "unsteady"), {})) as opened:
        assert not opened.batches


async def test_one_with_a_single_vector_for_everything_is_refused(server: TestServer) -> None:
    with pytest.raises(EmbedderError, match="the same vector"):
        await embedder(url(server, "constant"), {})


async def test_one_that_comes_to_that_later_is_refused_from_the_second_text_on(
    server: TestServer,
) -> None:
    """Every question would be like every other, and some no guard refuses."""
    async with aclosing(await embedder(url(server, "turning"), {})) as opened:
        await opened.embed(["which bird sings loudest"])
        await opened.embed(["now all are one"])
        for text in ("which mountain is the highest", "who wrote the first novel"):
            with pytest.raises(EmbedderError, match="different texts the same vector"):
                await opened.embed([text])


async def test_model_dimensions_and_credential_are_sent(server: TestServer, api: Api) -> None:
    """And the rest of the query stays in the URL."""
    query = f"model=m%2F1&dimensions={DIMENSION}&key_env=MINE&api-version=2"
    environ = {"MINE": "sesame", "HOTPREFIX_EMBEDDINGS_KEY": "other"}
    where = place(url(server, "ok", query), environ)
    async with aclosing(Remote(where)) as opened:
        await opened.embed(["one"])

    assert where.url.endswith("/ok/v1/embeddings?api-version=2")
    assert api.headers[0]["Authorization"] == "Bearer sesame"
    assert api.asked[0] == {
        "model": "m/1",
        "input": ["one"],
        "encoding_format": "float",
        "dimensions": DIMENSION,
    }


async def test_another_address_model_or_dimension_is_another_tag() -> None:
    where = Place("http://a/v1/embeddings", "m", 8, "key")
    others = [
        where._replace(url="http://b/"),
        where._replace(model="n"),
        where._replace(dimensions=9),
    ]
    tags = []
    for one in [where, where._replace(key=""), *others]:
        async with aclosing(Remote(one)) as made:
            tags.append(made.tag)

    assert tags[0] == tags[1]
    assert len(set(tags)) == 4


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("http://host/v1/embeddings", "model's name"),
        ("http:///v1/embeddings?model=m", "the URL"),
        ("http:ftp://host/?model=m", "the URL"),
        ("http://host/?model=m&dimensions=few", "a number"),
        ("http://host/?model=m&key_env=NONE", "NONE is not set"),
        ("http:ftp://me:hunter2@host/?key=hunter3", "found http:ftp://host/$"),
    ],
)
async def test_a_url_that_says_too_little_is_refused(wrong: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        await embedder(wrong, {})


async def test_one_that_fails_is_told_with_its_address_and_without_what_is_secret(
    server: TestServer,
) -> None:
    there = url(server, "broken").replace("http://", "http://me:hunter2@") + "&token=hunter3"
    for where in (there, "http://me:hunter2@127.0.0.1:9/v1/embeddings?model=m&token=hunter3"):
        address = where.replace("me:hunter2@", "").partition("?")[0]
        with pytest.raises(EmbedderError) as caught:
            await embedder(where, {})

        assert str(caught.value).startswith((f"{address} answered 500", f"{address} failed: "))
        assert "hunter" not in str(caught.value)


async def test_what_is_no_embedder_behind_a_url_is_told_with_its_address(
    server: TestServer,
) -> None:
    with pytest.raises(EmbedderError, match=r"^http://\S+ gives different texts the same vector$"):
        await embedder(url(server, "constant"), {})
