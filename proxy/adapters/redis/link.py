"""What a worker asks of Redis: in one write a loop turn, within a deadline, or not at all."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, Final

from proxy.adapters.redis.asked import OPEN, TIER, UNKNOWN, Asked, LinkError
from proxy.adapters.redis.connection import packed
from proxy.adapters.redis.dialer import Dialer
from proxy.adapters.redis.route import Cluster, Fixed, Sentinels, Single, slot_of, where
from proxy.adapters.redis.server import Server
from proxy.adapters.redis.url import parse
from proxy.config import ConfigError
from proxy.core.events import TierTurned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy import config
    from proxy.adapters.redis.connection import Part
    from proxy.adapters.redis.route import Route
    from proxy.adapters.redis.url import Target
    from proxy.ports import Clock, Emit

WRITES: Final = "redis-writes"
"""What refused writes are told as: a full Redis still answers."""
_EVERY: Final = 0.5
"""Seconds between two looks at what does not work."""
_PROBE: Final = 1000
"""Milliseconds that a probe's key lives."""
_LATE: Final = 0.002
_GRACE: Final = 0.005
"""Seconds more where this loop was late itself: what it was late for may be a reply."""
_LARGE: Final = 1 << 16
_SLOWEST: Final = 1 << 24
"""Bytes a second: a longer command, which is a write that no request waits for, has more time."""
_HOPS: Final = 4
_ASKING: Final = packed("ASKING")
_THEIRS: Final = frozenset({"WRONGTYPE", "TRYAGAIN", "NOSCRIPT"})
"""Errors that say something about a key or a moment, not about the server."""
_PROBES: Final = 1 << 17
"""Names to try for a probe's key; enough to meet every slot of a cluster."""


class Link:
    """Redis for one worker. Everything that fails is a StoreError, soon."""

    def __init__(
        self, settings: config.Redis, password: str | None, *, clock: Clock, emit: Emit
    ) -> None:
        """Connects to nothing yet. Raises: ConfigError."""
        self.prefix = settings.prefix
        self._target = parse(settings.url, settings.username, password)
        self._timeout = float(settings.timeout)
        self._limit = settings.max_connections
        self._clock = clock
        self._emit = emit
        self._dialer = Dialer(self._target, _tls(self._target, settings.ca_file))
        self._route = self._routed()
        self._start = settings.prefix.encode()
        self._turn: list[Asked] = []
        self._unknown = ""
        self._told = {TIER: "", WRITES: ""}
        self._closed = False

    def __repr__(self) -> str:
        return f"<Link {self._target.kind} {list(self._route.servers())}>"

    @property
    def working(self) -> bool:
        """Whether asking has a point: there is a server, and none refuses to be read."""
        servers = self._route.servers()
        return bool(servers) and not any(server.reads.open for server in servers)

    def name(self, tag: bytes | str, kind: str) -> bytes:
        """The name of a key. Those of one tag are held by one server."""
        text = tag if isinstance(tag, str) else tag.hex()
        return f"{self.prefix}{{{text}}}:{kind}".encode()

    async def ask(self, *command: Part, write: bool = False) -> Any:
        """The reply to one command; bytes stay bytes. Raises: StoreError."""
        slot = 0
        if isinstance(self._route, Cluster):
            keys = (part for part in command if isinstance(part, bytes))
            slot = slot_of(next((key for key in keys if key.startswith(self._start)), b""))
        return await self._asked(packed(*command), slot, write)

    async def script(
        self, text: str, keys: Sequence[bytes], args: Sequence[Part], *, write: bool = False
    ) -> Any:
        """What a Lua script returns that touches these keys of one tag. Raises: StoreError."""
        command = packed("EVAL", text, len(keys), *keys, *args)
        return await self._asked(command, slot_of(keys[0]), write)

    async def run(self) -> None:
        """Look after what does not work, until cancelled."""
        while True:
            await self.tend()
            await self._clock.sleep(_EVERY)

    async def tend(self) -> None:
        """One round of `run`: no request ever waits to find out whether Redis is back."""
        self._unknown = await self._route.learn()
        troubled = [server for server in self._route.servers() if not server.sound]
        async with asyncio.TaskGroup() as group:
            for server in troubled:
                group.create_task(self._probe(server))
        self._tell()

    async def aclose(self) -> None:
        """Close all connections; what is asked from now on fails."""
        self._closed = True
        for server in self._route.servers():
            await server.aclose()

    def _refused(self, call: Asked, text: str) -> None:
        """An error was answered: follow it elsewhere, or hand it on."""
        code, _, rest = text.partition(" ")
        call.packed = call.packed.removeprefix(_ASKING)
        if code in ("MOVED", "ASK") and self._redirected(call, code, rest):
            return
        code = code if code.isalpha() and code.isupper() else "ERR"
        if code not in _THEIRS:
            call.circuit.failed(code)
        if code == "READONLY" and self._target.kind == "sentinel":
            call.server.drop(ConnectionAbortedError("not the master any more"))
        if code in ("CLUSTERDOWN", "READONLY") and isinstance(self._route, Cluster):
            self._route.stale = True
        call.give_up(code)

    def _redirected(self, call: Asked, code: str, rest: str) -> bool:
        place = where(rest)
        if not isinstance(self._route, Cluster) or place is None or call.hops >= _HOPS:
            return False
        call.hops += 1
        slot, address = place
        if not address.host:
            address = address._replace(host=self._route.address(call.server).host)
        if code == "MOVED":
            call.server = self._route.moved(slot, address)
        else:
            call.server = self._route.at(address)
            call.packed, call.skip = _ASKING + call.packed, 1
        call.server.send(call)
        return True

    async def _probe(self, server: Server) -> None:
        read = wrote = await server.ready()
        if not read:
            server.listen()
            name = self._probe_name(server)
            get = packed("GET", name)
            put = packed("SET", name, b"1", "PX", _PROBE)
            read = await self._try(Asked(get, server, self._refused, write=False))
            wrote = await self._try(Asked(put, server, self._refused, write=True))
        server.reads.probed(read)
        server.writes.probed(wrote)
        if read:
            server.drop(TimeoutError(), silent=True)

    async def _try(self, call: Asked) -> str:
        try:
            await self._sent(call)
        except LinkError as error:
            return error.code
        return ""

    def _probe_name(self, server: Server) -> bytes:
        """A key that this server holds."""
        for number in range(_PROBES):
            name = self.name(f"probe{number}", "p")
            if self._route.server(slot_of(name)) is server:
                return name
        return self.name("probe", "p")  # It holds none, and will say so.

    def _tell(self) -> None:
        """Say what has changed: the class of the error, or that it works again."""
        servers = self._route.servers()
        reads = [server.reads.error for server in servers if server.reads.open]
        writes = [server.writes.error for server in servers if server.writes.open]
        for tier, errors in ((TIER, reads), (WRITES, writes)):
            error = self._unknown or next(iter(errors), "")
            if bool(error) != bool(self._told[tier]):
                self._emit(TierTurned(tier, not error, error))
            self._told[tier] = error

    def _routed(self) -> Route:
        target, dialer = self._target, self._dialer
        match target.kind:
            case "cluster":
                return Cluster(dialer, target.addresses, lambda place: self._server(Fixed(place)))
            case "sentinel":
                return Single(self._server(Sentinels(dialer, target.addresses, target.service)))
            case "server":
                return Single(self._server(Fixed(target.addresses[0])))

    def _server(self, place: Fixed | Sentinels) -> Server:
        return Server(self._dialer, place.locate, self._limit, turned=self._tell)

    async def _asked(self, command: bytes, slot: int, write: bool) -> Any:
        server = self._route.server(slot)
        if server is None or self._closed:
            raise LinkError(UNKNOWN)
        if server.circuit(write).open:
            raise LinkError(OPEN)
        return await self._sent(Asked(command, server, self._refused, write=write))

    async def _sent(self, call: Asked) -> Any:
        loop = asyncio.get_running_loop()
        if len(call.packed) > _LARGE:
            due = loop.time() + self._timeout + len(call.packed) / _SLOWEST
            loop.call_at(due, self._expire, [call], due)
        else:
            if not self._turn:
                loop.call_soon(self._end_turn)
            self._turn.append(call)
        call.server.send(call)
        return await call.future

    def _end_turn(self) -> None:
        """One timer for all that began together."""
        turn, self._turn = self._turn, []
        loop = asyncio.get_running_loop()
        due = loop.time() + self._timeout
        loop.call_at(due, self._expire, turn, due)

    def _expire(self, turn: list[Asked], due: float) -> None:
        late = [call for call in turn if not call.future.done()]
        loop = asyncio.get_running_loop()
        if late and loop.time() - due > _LATE:
            due = loop.time() + _GRACE
            # Never late again: this is the end, whenever it comes.
            loop.call_at(due, self._expire, late, float("inf"))
            return
        for circuit in {call.circuit for call in late}:
            circuit.failed("TimeoutError")
        for call in late:
            call.give_up("TimeoutError")


def _tls(target: Target, ca_file: str) -> ssl.SSLContext | None:
    try:
        return ssl.create_default_context(cafile=ca_file or None) if target.tls else None
    except OSError as error:  # An SSLError is one: a file without certificates.
        said = f"cannot be used: {error}"
        raise ConfigError(f"{said} - at `$.cache.redis.ca_file`") from error
