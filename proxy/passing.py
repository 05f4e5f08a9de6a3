"""Operations that are none of the cache's: passed on alone, as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from proxy.core.endpoint import disguised
from proxy.core.headers import end_to_end, without
from proxy.core.message import Head
from proxy.core.status import Status
from proxy.core.tenant import caller
from proxy.refusal import REFUSED, refusal

if TYPE_CHECKING:
    from proxy.core.message import Call, Headers
    from proxy.core.rules import Rules
    from proxy.core.tenant import Caller
    from proxy.origin import Origin
    from proxy.quotas import Quotas
    from proxy.response import Report, Response


@dataclass(frozen=True, slots=True)
class Passing:
    """Checks who asks, and passes on what was asked."""

    rules: Rules
    origin: Origin
    quotas: Quotas

    async def unread(self, call: Call, report: Report) -> Response:
        """As `forward`, for an operation of the cache's whose body was not read: whoever may not
        use every model is refused, since its model is not known. Raises: RefusedError."""
        self._check(call.headers)
        headers = without(call.headers, self.rules.control_names)
        return await self.forward(msgspec.structs.replace(call, headers=headers), report)

    def _check(self, headers: Headers) -> None:
        try:
            caller(headers, self.rules.secret, self.rules.tenants).check()
        except REFUSED as error:
            raise refusal(error) from error

    async def forward(self, call: Call, report: Report) -> Response:
        """The upstream's own answer, as it arrives. Raises: RefusedError."""
        asking = self._caller(call.headers)
        self.quotas.ask(asking.tenant)
        # Another spelling of the path must not be a way around a limit either.
        if disguised(call.method, call.path):
            self._check(call.headers)
        report.waits()
        try:
            upstream = await self.origin.forward(call, asking.credential)
        except REFUSED as error:
            raise refusal(error) from error
        report.waited()
        head = Head(upstream.head.status, end_to_end(upstream.head.headers), upstream.head.reason)
        return report.forward(head, upstream, Status("BYPASS", "endpoint", node=upstream.node))

    def sender(self, headers: Headers) -> str | None:
        """The credential to send for a client; None: its own. Raises: RefusedError."""
        return self._caller(headers).credential

    def _caller(self, headers: Headers) -> Caller:
        try:
            return caller(headers, self.rules.secret, self.rules.tenants)
        except REFUSED as error:
            raise refusal(error) from error
