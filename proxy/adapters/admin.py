"""The operator's port: health, metrics, numbers and purge, behind a credential of its own."""

from __future__ import annotations

import hmac
import ipaddress
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import orjson
from aiohttp import web
from multidict import CIMultiDict

from proxy.core.errors import RefusedError, answer
from proxy.core.orders import Feedback, Warm, order, to_forget
from proxy.core.recorded import RecordError, recorded
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from aiohttp.typedefs import Handler, Middleware

    from proxy.core.entry import Key
    from proxy.core.message import Arrival
    from proxy.core.near import Blamed
    from proxy.core.warming import Result

MAX_BODY: Final = 65536
MAX_WARM: Final = 33554432
"""Bytes of a request to be warmed."""

_PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
_OPEN: Final = frozenset(("/healthz", "/readyz"))
"""Probes carry no credential; these two tell nothing but whether the process serves."""


@dataclass(frozen=True, slots=True)
class Operations:
    """What an operator can see and do."""

    ready: Callable[[], bool]
    """Whether this worker takes requests; False while it starts or drains."""
    metrics: Callable[[], bytes]
    """What Prometheus reads."""
    stats: Callable[[], Mapping[str, object]]
    """Numbers for people; no secrets, no contents."""
    decisions: Callable[[], Awaitable[Sequence[Mapping[str, object]]]]
    """Why the last calls went where they went, newest first."""
    context: Callable[[str], Awaitable[Mapping[str, object] | None]]
    """The context hash tree of a request, by its id; None: it is not known (any more)."""
    purge: Callable[[Key | None], Awaitable[bool]]
    """Forget one answer, or with None all; whether there was one. May raise StoreError."""
    feedback: Callable[[str], Awaitable[Blamed | None]]
    """The answer that a request was served by meaning was wrong; None: it is not known which."""
    warm: Callable[[Arrival, str, bool], Awaitable[Sequence[Result]]]
    """Have a request's prompt computed: at the node that it would be sent to, at the named one, or
    at all that serve it. May raise RecordError."""


def application(operations: Operations, token: str | None) -> web.Application:
    """The routes. `token` None: no credential is asked for, so bind to loopback only.

    Raises: ValueError where the token is empty, which anyone could present.
    """
    if token is not None and not token:
        raise ValueError("expected a token that is not empty")
    admin = _Admin(operations)
    app = web.Application(middlewares=[_guard(token)], client_max_size=MAX_BODY)
    app.router.add_get("/healthz", admin.healthz)
    app.router.add_get("/readyz", admin.readyz)
    app.router.add_get("/metrics", admin.metrics)
    app.router.add_get("/admin/stats", admin.stats)
    app.router.add_get("/admin/decisions", admin.decisions)
    app.router.add_get("/admin/context/{id}", admin.context)
    app.router.add_post("/admin/purge", admin.purge)
    app.router.add_post("/admin/feedback", admin.feedback)
    app.router.add_post("/admin/warm", admin.warm)
    return app


class _Admin:
    """The routes' handlers."""

    def __init__(self, operations: Operations) -> None:
        self._do = operations

    async def healthz(self, request: web.Request) -> web.Response:
        """200 as long as the event loop turns."""
        return _json({"status": "ok"})

    async def readyz(self, request: web.Request) -> web.Response:
        """Whether a load balancer may send requests here."""
        ready = self._do.ready()
        return _json({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """All workers' numbers for Prometheus."""
        return web.Response(body=self._do.metrics(), headers={"content-type": _PROMETHEUS})

    async def stats(self, request: web.Request) -> web.Response:
        """All workers' numbers for people."""
        return _json(self._do.stats())

    async def decisions(self, request: web.Request) -> web.Response:
        """Why the last calls of this worker went where they went."""
        return _json({"pid": os.getpid(), "decisions": await self._do.decisions()})

    async def context(self, request: web.Request) -> web.Response:
        """The layers of a request's prompt, and who holds how much of it."""
        shown = await self._do.context(request.match_info["id"])
        if shown is None:
            raise RefusedError(404, "No such request.", code="request_not_found", param="id")
        return _json({"pid": os.getpid(), **shown})

    async def purge(self, request: web.Request) -> web.Response:
        """Forget answers."""
        key = to_forget(await _json_of(request))
        if not await self._do.purge(key) and key is not None:
            raise RefusedError(404, "No such entry.", code="entry_not_found", param="key")
        return _json({"purged": "all" if key is None else key.hex()})

    async def feedback(self, request: web.Request) -> web.Response:
        """Learn that a hit was wrong, and forget its answer."""
        told = order(await _json_of(request), Feedback)
        if (blamed := await self._do.feedback(told.request_id)) is None:
            what = "That request was not answered by meaning, or too long ago to be known."
            raise RefusedError(404, what, code="hit_not_found", param="request_id")
        return _json(blamed.told())

    async def warm(self, request: web.Request) -> web.Response:
        """Have a prompt computed before it is asked for."""
        told = order(await _json_of(request.clone(client_max_size=MAX_WARM)), Warm)
        try:
            asked = recorded(bytes(told.request), told.key)
            results = await self._do.warm(asked, told.node, told.everywhere)
        except RecordError as error:
            raise RefusedError(400, str(error), code="invalid_warm") from error
        return _json({"pid": os.getpid(), "results": [msgspec.to_builtins(r) for r in results]})


async def _json_of(request: web.Request) -> bytes:
    """A request's body. Raises RefusedError."""
    # A web page elsewhere can make a browser post forms and text here, but JSON only after asking,
    # and such questions (OPTIONS) are refused.
    if request.content_type != "application/json":
        raise RefusedError(415, "Expected content-type application/json.", code="content_type")
    return await request.read()


def _guard(token: str | None) -> Middleware:
    """Refuse strangers before anything else is looked at; tell every failure in one shape."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.path not in _OPEN:
                _admit(request, token)
            return await handler(request)
        except RefusedError as error:
            return _refusal(error)
        except StoreError as error:
            return _refusal(RefusedError(503, f"The {error.tier} tier failed.", code="tier_failed"))
        except web.HTTPException as error:
            allow = error.headers.get("allow")
            headers = (("allow", allow),) if allow else ()
            return _refusal(RefusedError(error.status, error.reason, headers=headers))

    return guard


def _admit(request: web.Request, token: str | None) -> None:
    """Let only the operator in. Forwarding headers are not looked at. Raises RefusedError."""
    if token is None:
        # Without a credential the address is the guard, and a web page could borrow the browser's
        # by pointing its own name at loopback (DNS rebinding): such a name is in `host`.
        if not _is_local(request.host):
            raise RefusedError(403, "Unknown host.", code="unknown_host")
        return
    scheme, _, presented = request.headers.get("authorization", "").partition(" ")
    matches = hmac.compare_digest(presented.strip().encode("utf-8", "replace"), token.encode())
    if scheme.lower() != "bearer" or not matches:
        challenge = (("www-authenticate", "Bearer"),)
        raise RefusedError(401, "Admin token required.", code="invalid_token", headers=challenge)


def _is_local(host: str) -> bool:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    try:
        return name == "localhost" or bool(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return False


def _refusal(error: RefusedError) -> web.Response:
    head, body = answer(error)
    return web.Response(status=head.status, body=body, headers=CIMultiDict(head.headers))


def _json(value: Mapping[str, object], status: int = 200) -> web.Response:
    body = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    return web.Response(status=status, body=body, content_type="application/json")
