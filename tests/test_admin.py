"""The operator's port: who gets in, and what it answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from proxy.adapters.admin import MAX_BODY, Operations, application
from proxy.core.near import Blamed, Verdict
from proxy.core.warming import Result
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from proxy.core.entry import Key
    from proxy.core.message import Arrival

    Client = TestClient[Any, Any]
    Open = Callable[..., Awaitable[Client]]

KEY = "0123456789abcdef" * 4
TOKEN = {"authorization": "Bearer operator-secret"}
PURGE_ALL = {"scope": "all"}


class Gateway:
    """What the port shows and steers."""

    def __init__(self) -> None:
        self.serving = True
        self.broken = False
        self.keys = {bytes.fromhex(KEY), b"another"}
        self.wrong: list[str] = []
        self.wished: list[tuple[Arrival, str, bool]] = []

    def ready(self) -> bool:
        return self.serving

    async def feedback(self, request: str) -> Blamed | None:
        self.wrong.append(request)
        verdict = Verdict("semantic", True, 0.97, "m/en")
        return Blamed(verdict, closed=True) if request == "req_1" else None

    async def purge(self, key: Key | None) -> bool:
        if self.broken:
            raise StoreError("disk", "map at /var/lib/secret-place is full")
        there = key is None or key in self.keys
        self.keys = self.keys - {key} if key else set()
        return there

    async def decisions(self) -> list[dict[str, object]]:
        return [{"node": "gpu-1", "reason": "hit"}]

    async def context(self, name: str) -> dict[str, object] | None:
        return {"key": "00ff"} if name == "req_1" else None

    async def warm(self, asked: Arrival, node: str, everywhere: bool) -> list[Result]:
        self.wished.append((asked, node, everywhere))
        return [Result("gpu-1", "warmed", 2048, 2048)]


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
async def opened(gateway: Gateway) -> AsyncIterator[Open]:
    clients: list[Client] = []

    async def start(token: str | None = None) -> Client:
        operations = Operations(
            ready=gateway.ready,
            metrics=lambda: b"hotprefix_workers 1.0\n",
            stats=lambda: {"workers": 1},
            decisions=gateway.decisions,
            context=gateway.context,
            purge=gateway.purge,
            feedback=gateway.feedback,
            warm=gateway.warm,
        )
        client = TestClient(TestServer(application(operations, token)))
        await client.start_server()
        clients.append(client)
        return client

    yield start
    for client in clients:
        await client.close()


async def error(response: Any) -> dict[str, Any]:
    """The error of a response, which has OpenAI's shape in any case."""
    body = await response.json()
    assert set(body["error"]) == {"message", "type", "param", "code"}
    inner: dict[str, Any] = body["error"]
    return inner


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/healthz", "application/json", '{"status":"ok"}\n'),
        ("/readyz", "application/json", '{"status":"ready"}\n'),
        ("/metrics", "text/plain", "hotprefix_workers 1.0\n"),
        ("/admin/stats", "application/json", '{"workers":1}\n'),
    ],
)
async def test_without_a_token_loopback_is_enough(
    opened: Open, path: str, kind: str, body: str
) -> None:
    response = await (await opened()).get(path)

    assert (response.status, response.content_type) == (200, kind)
    assert await response.text() == body


async def test_a_draining_worker_is_healthy_but_not_ready(opened: Open, gateway: Gateway) -> None:
    client = await opened()
    gateway.serving = False

    assert (await client.get("/healthz")).status == 200
    assert (await client.get("/readyz")).status == 503


async def test_purge_all_leaves_nothing(opened: Open, gateway: Gateway) -> None:
    response = await (await opened()).post("/admin/purge", json=PURGE_ALL)

    assert (response.status, await response.json()) == (200, {"purged": "all"})
    assert gateway.keys == set()


@pytest.mark.parametrize("key", [KEY, KEY.upper()])
async def test_purge_of_a_key_leaves_the_others(opened: Open, gateway: Gateway, key: str) -> None:
    response = await (await opened()).post("/admin/purge", json={"key": key})

    assert (response.status, await response.json()) == (200, {"purged": KEY})
    assert gateway.keys == {b"another"}


async def test_purge_of_an_unknown_key_says_so(opened: Open) -> None:
    response = await (await opened()).post("/admin/purge", json={"key": "f" * 64})

    assert response.status == 404
    assert (await error(response))["code"] == "entry_not_found"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"scope":"some"}',
        '{"scope":"all","key":"' + KEY + '"}',
        '{"key":"' + KEY[:16] + '"}',
        '{"key":"' + "g" * 64 + '"}',
        '{"scope":"all","sure":true}',
        b'{"scope":"\xff"}',
    ],
)
async def test_a_purge_that_is_unclear_purges_nothing(
    opened: Open, gateway: Gateway, body: str | bytes
) -> None:
    headers = {"content-type": "application/json"}
    response = await (await opened()).post("/admin/purge", data=body, headers=headers)
    assert (await error(response))["type"] == "invalid_request_error"

    assert response.status == 400
    assert len(gateway.keys) == 2


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_what_a_web_page_can_post_unasked_is_refused(
    opened: Open, gateway: Gateway, kind: str
) -> None:
    """Browsers send these kinds to other sites without asking them first."""
    client = await opened()
    headers = {"content-type": kind}
    response = await client.post("/admin/purge", data='{"scope":"all"}', headers=headers)
    await error(response)

    assert response.status == 415
    assert len(gateway.keys) == 2


async def test_a_browsers_question_gets_no_permission(opened: Open) -> None:
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    response = await (await opened()).options("/admin/purge", headers=headers)

    assert response.status == 405
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8081", "127.0.0.1.evil.example"])
async def test_a_foreign_name_for_loopback_is_refused(
    opened: Open, gateway: Gateway, host: str
) -> None:
    """A page that points its own name at this port is of this origin to the browser."""
    client = await opened()
    response = await client.post("/admin/purge", json=PURGE_ALL, headers={"host": host})
    await error(response)

    assert response.status == 403
    assert len(gateway.keys) == 2


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8081", "[::1]", "10.0.0.7:1"])
async def test_a_local_name_or_an_address_is_fine(opened: Open, host: str) -> None:
    assert (await (await opened()).get("/admin/stats", headers={"host": host})).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer K1"},
        {"authorization": "operator-secret"},
        {"authorization": "Basic operator-secret"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer operator-secret2"},
        {"authorization": "Bearer operator-secre\u00e9"},
        {"x-api-key": "operator-secret"},
        {"x-forwarded-for": "127.0.0.1", "x-real-ip": "::1", "forwarded": "for=127.0.0.1"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/admin/purge"),
        ("POST", "/admin/warm"),
        ("GET", "/admin/stats"),
        ("GET", "/metrics"),
        ("GET", "/admin/cache/entries"),
        ("GET", "/"),
    ],
)
async def test_with_a_token_nobody_else_gets_in(
    opened: Open, gateway: Gateway, method: str, path: str, headers: dict[str, str]
) -> None:
    """A data-plane key is no admin key, and no header makes a caller local."""
    client = await opened("operator-secret")
    response = await client.request(
        method, path, headers=headers, json=PURGE_ALL if method == "POST" else None
    )
    told = await error(response)

    assert (response.status, response.headers["www-authenticate"]) == (401, "Bearer")
    assert told == {
        "message": "Admin token required.",
        "type": "authentication_error",
        "param": None,
        "code": "invalid_token",
    }
    assert len(gateway.keys) == 2
    assert gateway.wished == []


async def test_the_token_opens_everything(opened: Open, gateway: Gateway) -> None:
    client = await opened("operator-secret")

    assert (await client.get("/metrics", headers=TOKEN)).status == 200
    assert (await client.get("/admin/stats", headers=TOKEN)).status == 200
    assert (await client.post("/admin/purge", json=PURGE_ALL, headers=TOKEN)).status == 200
    assert gateway.keys == set()


async def test_decisions_are_shown_with_the_worker_that_made_them(opened: Open) -> None:
    response = await (await opened()).get("/admin/decisions")

    assert await response.json() == {
        "pid": os.getpid(),
        "decisions": [{"node": "gpu-1", "reason": "hit"}],
    }


async def test_the_tree_of_a_request_is_shown_while_it_is_known(opened: Open) -> None:
    client = await opened()
    known = await client.get("/admin/context/req_1")
    unknown = await client.get("/admin/context/req_2")

    assert await known.json() == {"pid": os.getpid(), "key": "00ff"}
    assert unknown.status == 404
    assert (await unknown.json())["error"]["code"] == "request_not_found"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_need_no_token(opened: Open, path: str) -> None:
    assert (await (await opened("operator-secret")).get(path)).status == 200


def test_an_empty_token_is_refused_at_the_start(gateway: Gateway) -> None:
    """A variable that is named but not set must not open the port to `Bearer` and nothing."""
    operations = Operations(
        gateway.ready,
        bytes,
        dict,
        gateway.decisions,
        gateway.context,
        gateway.purge,
        gateway.feedback,
        gateway.warm,
    )

    with pytest.raises(ValueError, match="token"):
        application(operations, "")


async def test_other_paths_and_methods_are_errors_of_the_same_shape(opened: Open) -> None:
    client = await opened()
    missing = await client.get("/v1/models")
    wrong = await client.get("/admin/purge")

    assert (missing.status, (await error(missing))["type"]) == (404, "not_found_error")
    assert (wrong.status, wrong.headers["allow"]) == (405, "POST")
    await error(wrong)


async def test_a_body_too_large_is_refused(opened: Open, gateway: Gateway) -> None:
    body = b" " * (MAX_BODY + 1) + b'{"scope":"all"}'
    headers = {"content-type": "application/json"}
    response = await (await opened()).post("/admin/purge", data=body, headers=headers)
    await error(response)

    assert response.status == 413
    assert len(gateway.keys) == 2


async def test_a_tier_that_fails_is_named_and_nothing_more(opened: Open, gateway: Gateway) -> None:
    gateway.broken = True
    response = await (await opened()).post("/admin/purge", json=PURGE_ALL)
    told = await error(response)

    assert response.status == 503
    assert (told["code"], told["message"]) == ("tier_failed", "The disk tier failed.")


async def test_feedback_names_the_request_whose_answer_was_wrong(
    gateway: Gateway, opened: Open
) -> None:
    client = await opened()

    known = await client.post("/admin/feedback", json={"request_id": "req_1"})
    unknown = await client.post("/admin/feedback", json={"request_id": "req_2", "wrong": True})

    assert known.status == 200
    said = await known.json()
    assert "once enough of them were right" in said.pop("note")
    assert said == {"forgotten": True, "kind": "semantic", "group": "m/en", "closed": True}
    assert unknown.status == 404
    assert (await error(unknown))["code"] == "hit_not_found"
    assert gateway.wrong == ["req_1", "req_2"]


@pytest.mark.parametrize("body", [{}, {"request_id": ""}, {"request_id": "r", "wrong": False}, []])
async def test_feedback_that_says_nothing_is_refused(
    gateway: Gateway, opened: Open, body: object
) -> None:
    response = await (await opened()).post("/admin/feedback", json=body)

    assert response.status == 400
    assert (await error(response))["code"] == "invalid_feedback"
    assert gateway.wrong == []


async def test_a_prompt_is_warmed_as_it_was_spelled(opened: Open, gateway: Gateway) -> None:
    """Numbers and blanks of a body are what an engine's template sees."""
    body = '{"model":"m", "messages":[], "x":1.0}'
    sent = f'{{"request":{body},"key":"sk-1","node":"gpu-1"}}'
    headers = {"content-type": "application/json"}
    response = await (await opened()).post("/admin/warm", data=sent, headers=headers)
    told = await response.json()

    assert response.status == 200
    assert [(one["node"], one["outcome"]) for one in told["results"]] == [("gpu-1", "warmed")]
    ((asked, node, everywhere),) = gateway.wished
    assert (asked.body.decode(), asked.path) == (body, "/v1/chat/completions")
    assert ("authorization", "Bearer sk-1") in asked.headers
    assert (node, everywhere) == ("gpu-1", False)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("{", 400),
        ('{"request":[]}', 400),
        ('{"request":{"body":{},"path":"/v1/models"}}', 400),
        ('{"request":{"messages":[]},"nodes":"all"}', 400),
    ],
)
async def test_what_cannot_be_warmed_is_refused(
    opened: Open, gateway: Gateway, sent: str, status: int
) -> None:
    headers = {"content-type": "application/json"}
    response = await (await opened()).post("/admin/warm", data=sent, headers=headers)

    assert (response.status, (await error(response))["code"]) == (status, "invalid_warm")
    assert gateway.wished == []


async def test_a_page_in_a_browser_cannot_have_prompts_warmed(
    opened: Open, gateway: Gateway
) -> None:
    headers = {"content-type": "text/plain"}
    response = await (await opened()).post("/admin/warm", data='{"request":{}}', headers=headers)

    assert (response.status, gateway.wished) == (415, [])


async def test_a_prompt_may_be_larger_than_a_purge(opened: Open, gateway: Gateway) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "x" * (2 * MAX_BODY)}]}
    response = await (await opened()).post("/admin/warm", json={"request": asked})

    assert (response.status, len(gateway.wished)) == (200, 1)
