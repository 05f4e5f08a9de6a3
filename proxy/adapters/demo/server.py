"""The demo upstream's HTTP side: routes, streams, errors in the provider's shape."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import orjson
from aiohttp import web

from proxy.adapters.demo.answer import Fields, RefusedError
from proxy.adapters.demo.chat import chat, chat_events, completion, completion_events
from proxy.adapters.demo.embeddings import embeddings
from proxy.adapters.demo.kept import Kept
from proxy.adapters.demo.messages import message, message_events
from proxy.adapters.demo.responses import response, response_events

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    Whole: TypeAlias = Callable[[Fields, int], Fields]
    Events: TypeAlias = Callable[[Fields, int], Iterator[bytes]]
    Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

_MAX_BODY: Final = 128 * 2**20
_MODELS: Final = ("demo-chat", "demo-embed")
_CREATED: Final = 1_700_000_000
_MESSAGES: Final = "/v1/messages"
_KIND: Final = "invalid_request_error"
_PROMPT: Final = ("instructions", "system", "prompt", "input", "messages")
"""The members of a request that are its prompt, in whatever dialect, in their order."""


class Pace(msgspec.Struct, frozen=True):
    """How slow the demo is, in seconds."""

    latency: float = 0.0
    """Before the first byte."""
    token_delay: float = 0.0
    """Between two events of a stream."""


def application(pace: Pace, kept: Kept | None) -> web.Application:
    """The demo upstream, not yet listening. `kept`: what it keeps of prompts; None: nothing."""
    app = web.Application(client_max_size=_MAX_BODY, middlewares=[_in_shape])
    numbers = count(1)

    async def label(request: web.Request, answer: web.StreamResponse) -> None:
        answer.headers["x-demo-upstream"] = "true"
        answer.headers["x-request-id"] = f"req_demo_{next(numbers)}"

    app.on_response_prepare.append(label)
    for path, whole, events in (
        ("/v1/chat/completions", chat, chat_events),
        ("/v1/completions", completion, completion_events),
        ("/v1/responses", response, response_events),
        ("/v1/embeddings", embeddings, None),
        (_MESSAGES, message, message_events),
    ):
        app.router.add_post(path, _operation(whole, events, pace, kept))
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/v1/models/{name:.+}", _model)
    return app


async def start(
    host: str, port: int, pace: Pace, kept: Kept | None = None
) -> tuple[web.AppRunner, int]:
    """Listen; the port is returned, since 0 picks a free one. `runner.cleanup()` ends it."""
    runner = web.AppRunner(
        application(pace, kept), handler_cancellation=True, access_log=None, shutdown_timeout=1.0
    )
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner, int(runner.addresses[0][1])


def _operation(whole: Whole, events: Events | None, pace: Pace, kept: Kept | None) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        fields = await _fields(request)
        prompt = [fields[name] for name in _PROMPT if name in fields]
        held = 0 if kept is None else kept.count(fields.get("model"), prompt)
        if pace.latency:
            await asyncio.sleep(pace.latency)
        if events is not None and fields.get("stream") is True:
            return await _streamed(request, events(fields, held), pace.token_delay)
        return _json(whole(fields, held))

    return handle


async def _fields(request: web.Request) -> Fields:
    try:
        fields = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise RefusedError(f"expected JSON: {error}") from error
    if not isinstance(fields, dict):
        raise RefusedError("expected a JSON object")
    return fields


async def _streamed(
    request: web.Request, events: Iterator[bytes], delay: float
) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
    await answer.prepare(request)
    for part in events:
        await answer.write(part)
        if delay:
            await asyncio.sleep(delay)
    await answer.write_eof()
    return answer


def _json(data: Fields, status: int = 200) -> web.Response:
    return web.Response(
        body=orjson.dumps(data), status=status, headers={"content-type": "application/json"}
    )


async def _models(request: web.Request) -> web.Response:
    return _json({"object": "list", "data": [_card(name) for name in _MODELS]})


async def _model(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name not in _MODELS:
        return _failure(request, 404, f"the demo has no model {name!r}", code="model_not_found")
    return _json(_card(name))


def _card(name: str) -> Fields:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "hotprefix-demo"}


@web.middleware
async def _in_shape(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Whatever goes wrong becomes an error body that an SDK can read."""
    try:
        return await handler(request)
    except RefusedError as error:
        return _failure(request, 400, str(error), param=error.param)
    except (AttributeError, KeyError, TypeError) as error:
        # The dialects read nested fields without checking each type: what does not have the
        # documented shape ends here.
        return _failure(request, 400, f"a field has another type than expected: {error}")
    except web.HTTPException as error:
        known = {404: "unknown path", 405: "method not allowed", 413: "the body is too large"}
        said = known.get(error.status, error.reason)
        return _failure(request, error.status, f"{said}: {request.method} {request.path}")


def _failure(
    request: web.Request, status: int, message: str, param: str | None = None, code: str = ""
) -> web.Response:
    kind = "not_found_error" if status == 404 and request.path == _MESSAGES else _KIND
    if request.path == _MESSAGES:
        return _json({"type": "error", "error": {"type": kind, "message": message}}, status)
    error = {"message": message, "type": kind, "param": param, "code": code or None}
    return _json({"error": error}, status)
