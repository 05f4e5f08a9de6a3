"""aiohttp's server with our words for what goes wrong."""

from __future__ import annotations

import traceback

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from proxy.core.errors import RefusedError, answer


class Server(web.Server):
    """aiohttp's server with our words for what is not HTTP."""

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(RequestHandler):
    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """An OpenAI-shaped error in place of a page; and nothing of ours in it."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response had begun")
        told = "the request is not valid HTTP" if status < 500 else "the proxy failed"
        if isinstance(exc, HttpProcessingError):
            status = exc.code
        elif exc is not None:
            self.logger.error("unexpected %s in %s", type(exc).__name__, place(exc))
        head, body = answer(RefusedError(status, told))
        reply = web.Response(status=status, body=body, headers=CIMultiDict(head.headers))
        reply.force_close()
        return reply


def place(error: BaseException) -> str:
    """Where it was raised; no more is told, since an exception's text may quote a prompt."""
    where = traceback.extract_tb(error.__traceback__)[-1:]
    return f"{where[0].name}:{where[0].lineno}" if where else "?"
