"""The other workers, of this machine and of the fleet: reached, followed, agreed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.adapters.leases import Leases, NoLeases, leased
from proxy.adapters.meaning import Meaning as Process
from proxy.adapters.peers.follow import NoPeers, Peers
from proxy.adapters.peers.server import PeerServer, Remote, address
from proxy.adapters.redis.feed import Feed
from proxy.adapters.redis.leases import RedisLeases
from proxy.adapters.redis.meanings import Meanings
from proxy.auditing import Auditing
from proxy.core.entry import Key
from proxy.core.events import TierFailed
from proxy.environment import disk_path, peer_secret
from proxy.gathering import Gathering
from proxy.holdings import Holdings
from proxy.meaning import Meaning
from proxy.meanings import NoMeaning
from proxy.purging import Purging
from proxy.sharing import Sharing, unnamed
from proxy.storage import closing
from proxy.worker import soon

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.flight import Reader
    from proxy.flights import Flights
    from proxy.ports import Emit
    from proxy.storage import Close, Loop, Site, Storage

_MEETING = 0.3
"""Seconds that a start may wait to hear of the fleet's epoch."""


class Company:
    """One worker's ties to the others. Made after forking, with the loop running."""

    def __init__(
        self, site: Site, slot: int, storage: Storage, flights: Flights, emit: Emit
    ) -> None:
        self.loops: list[Loop] = []
        self.closing: list[Close] = []
        self._site = site
        self._slot = slot
        self._link = storage.link
        self._kept = storage.kept
        self._flights = flights
        self._emit = emit
        self._secret = None if storage.link is None else peer_secret(site.config, site.environ)
        self._single = site.config.server.workers == 1
        self._path = site.directory / f"worker-{slot}.sock"
        self.alone = self._single and storage.link is None
        """Whether no other could fly for the same key, or have stored it."""
        self._peers = Peers(self._secret, emit)
        self._feed = self._fed(storage)
        self._sharing: Sharing | None = None
        self.leases: Leases | NoLeases | RedisLeases = NoLeases()
        """In force once it has joined."""
        self.first = slot == 0
        """Whether it does what one worker of a machine has to do."""
        self._holdings = self._held(storage)
        self.meaning = self._meant(storage)
        self.purging = self._forgetful(storage)

    def _held(self, storage: Storage) -> Holdings:
        return Holdings(
            storage.all,
            lambda: storage.tiers.distrusted,
            self._peers,
            self._others,
            self._site.clock,
            self._emit,
        )

    def _meant(self, storage: Storage) -> Meaning | NoMeaning:
        settings, epoch = self._site.config.semantic, storage.epochs.current
        if settings.mode == "off":
            return NoMeaning()
        process = Process(self._site.directory / "semantic.sock")
        self.closing.append(process.aclose)
        fleet = self._others_meanings(storage)
        process.fleet = fleet
        meaning = Meaning(
            process,
            storage.tiers,
            announce=None if fleet is None else fleet.stored,
            epoch=epoch,
            flying=lambda key: self._flights.has((key, epoch())),
            scattered=not self._single and storage.disk is None and storage.redis is None,
            timeout=float(settings.timeout),
            patience=float(settings.judge.timeout) + 1.0,
            backlog=storage.backlog,
            clock=self._site.clock,
            emit=self._emit,
        )
        self._tend(process, storage, meaning, fleet)
        return meaning

    def _tend(
        self, process: Process, storage: Storage, meaning: Meaning, fleet: Meanings | None
    ) -> None:
        """Have the process told what there is, and rid of what there is no more."""
        clock, disk = self._site.clock, storage.disk
        source = storage.memory.questions if disk is None else disk.scan.questions
        if self.first or disk is None:
            told = (process, source, fleet if self.first else None, clock, self._emit)
            gathering = Gathering(*told, missed=meaning.missed, counts=self.first)
            self.loops.append(gathering.run)
        if self.first:
            auditing = Auditing(process, self._holdings.gone, clock, self._emit)
            self.loops.append(auditing.run)

    def _others_meanings(self, storage: Storage) -> Meanings | None:
        if storage.link is None or storage.redis is None:
            return None
        run = self._site.directory.name.encode()
        return Meanings(storage.link, storage.redis.get, run, self._site.clock)

    async def join(self) -> Sharing:
        """Be reachable, and share flights from now on."""
        port = await self._listen()
        leases: Leases | NoLeases | RedisLeases = self._local()
        if self._link is not None and port:
            peers = self._site.config.peers
            own = address(peers.advertise or peers.host, port)
            leases = RedisLeases(self._link, own, leases, clock=self._site.clock)
            self.loops.append(leases.run)
        self.leases = leases
        known = NoPeers() if isinstance(leases, NoLeases) else self._peers
        self._sharing = Sharing(leases, known, self._site.clock)
        return self._sharing

    async def renewed(self, key: Key, asked: float) -> None:
        """Tell the other gateways that a request's wish for a new answer was met."""
        if self._feed is not None:
            await self._feed.renewed(key, asked)

    async def meet(self) -> None:
        """Hear of the fleet's epoch, if it can be heard."""
        if self._kept is not None:
            await self._kept.meet(_MEETING)
        if self._feed is not None:
            await self._feed.meet(_MEETING)

    def _forgetful(self, storage: Storage) -> Purging:
        purging = Purging(
            self._flights,
            storage.tiers,
            storage.epochs,
            self._peers,
            self._others,
            self._step_aside,
            self._feed,
            self._site.clock,
            gone=self.meaning.gone,
            sweeps=self.first,
        )
        if not self.alone:
            self.loops.append(purging.run)
        return purging

    def _fed(self, storage: Storage) -> Feed | None:
        if storage.link is None:
            return None
        kept, clock = disk_path(self._site.config, self._site.environ), self._site.clock

        feed = Feed(
            storage.link,
            storage.epochs,
            on_purge=self._forget,
            # Told to ask anew, another gateway did: what this one alone has of before is outdated.
            on_newer=storage.tiers.drop,
            on_gap=lambda: self.purging.missed(clock.now()),
            clock=clock,
            emit=self._emit,
            path=None if kept is None else kept / "feed",
            elsewhere=storage.pending,
        )
        self.loops.append(feed.run)
        return feed

    async def _listen(self) -> int:
        """The port by which other machines reach this worker; 0: they cannot."""
        if self._single and self._secret is None:
            return 0
        peers, remote = self._site.config.peers, None
        if self._secret is not None:
            port = peers.port + self._slot if peers.port else 0
            remote = Remote(peers.host, port, self._secret)
        how = (self._board, self._forget, self._path, remote)
        server = PeerServer(*how, unheld=self._holdings.unheld)
        self.closing.append(server.aclose)
        try:
            return await server.start()
        except OSError as error:  # then this gateway's flights are its own
            self._emit(TierFailed("peers", "open", type(error).__name__))
            return 0

    def _local(self) -> Leases | NoLeases:
        if self._single:
            return NoLeases()
        directory, clock = self._site.directory / "leases", self._site.clock
        leases = leased(directory, str(self._path), clock=clock, emit=soon(self._emit))
        if isinstance(leases, Leases):
            self.loops.append(leases.run)
            self.closing.append(closing(leases))
        return leases

    def _others(self) -> Iterable[str]:
        found = self._site.directory.glob("worker-*.sock")
        return [str(path) for path in found if path != self._path]

    async def _step_aside(self, key: Key) -> None:
        if self._sharing is not None:
            await self._sharing.step_aside(key)

    def _board(self, name: bytes) -> Reader | None:
        """A place at a running flight, for another worker."""
        return self._flights.get(unnamed(name))

    async def _forget(self, key: bytes, at: float) -> bool:
        return await self.purging.forget(Key(key), at)
