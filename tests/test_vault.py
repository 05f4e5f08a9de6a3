"""Data keys: who opens what whom has sealed, through rotations and outages of the keeper."""

from __future__ import annotations

import asyncio
import base64
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.vault import kms
from proxy.adapters.vault.keys import wrappers
from proxy.adapters.vault.kms import Kms
from proxy.adapters.vault.vault import Vault, coder
from proxy.adapters.vault.wrapper import Local, WrapperError
from proxy.coder import SealError
from proxy.config import ConfigError, Encryption
from proxy.core import sealing
from proxy.core.events import TierFailed, TierTurned
from proxy.core.sealing import DataKey
from tests.aws_server import AwsServer
from tests.fakes import FakeClock, settle
from tests.stored import entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from proxy.adapters.vault.wrapper import Wrapper
    from proxy.core.events import Event

OLD, NEW = Local(b"o" * 32), Local(b"n" * 32)
PATIENCE = 10.0


class Keeper:
    """A wrapper that somebody else keeps, and that can be out of reach."""

    waits = True

    def __init__(self, name: str = "keeper") -> None:
        self.id = sealing.named(name)
        self.reachable = True
        self.asked = 0
        self._local = Local(name.encode().ljust(32))

    def make(self, chance: bytes) -> DataKey:
        self._ask()
        return self._local.make(chance)._replace(id=self.id)

    def unwrap(self, wrapped: bytes) -> bytes | None:
        self._ask()
        return self._local.unwrap(wrapped)

    def _ask(self) -> None:
        self.asked += 1
        if not self.reachable:
            raise WrapperError("out of reach")


def vault(*wrappers: Wrapper, clock: FakeClock | None = None, seals: int = 1 << 20) -> Vault:
    return Vault(wrappers, clock=clock or FakeClock(), emit=lambda _: None, seals=seals)


@asynccontextmanager
async def running(*vaults: Vault) -> AsyncIterator[None]:
    tasks = [asyncio.get_running_loop().create_task(one.run()) for one in vaults]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    """Threads and servers take the time they take."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if holds():
                return
            await asyncio.sleep(0.005)


async def until_sealed(one: Vault) -> bytes:
    """What it seals, once it can."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return one.seal(b"payload", b"bound")
            except SealError:
                await asyncio.sleep(0.005)


async def until_opened(one: Vault, data: bytes) -> None:
    await until(lambda: one.unseal(memoryview(data), b"bound") == b"payload")


def test_each_process_opens_what_another_has_sealed() -> None:
    one, other = vault(OLD), vault(OLD)

    for sealer, opener in ((one, other), (other, one), (one, one)):
        data = sealer.seal(b"payload", b"bound")
        assert opener.unseal(memoryview(data), b"bound") == b"payload"


def test_two_processes_have_data_keys_of_their_own() -> None:
    sealed = [sealing.parts(vault(OLD).seal(b"payload", b"")) for _ in range(2)]

    assert len({found.wrapped for found in sealed if found is not None}) == 2


def test_the_same_payload_never_looks_the_same_twice() -> None:
    one = vault(OLD)

    assert len({one.seal(b"payload", b"bound") for _ in range(100)}) == 100


def test_during_a_rotation_old_and_new_gateways_read_each_other() -> None:
    """Two steps: all learn to open with the new key, then they seal with it."""
    before, learned, rotated = vault(OLD), vault(OLD, NEW), vault(NEW, OLD)
    by_old, by_new = before.seal(b"payload", b""), rotated.seal(b"payload", b"")

    assert learned.unseal(memoryview(by_new), b"") == b"payload"
    assert rotated.unseal(memoryview(by_old), b"") == b"payload"
    assert rotated.unseal(memoryview(learned.seal(b"payload", b"")), b"") == b"payload"
    assert before.unseal(memoryview(by_new), b"") is None
    assert vault(NEW).unseal(memoryview(by_old), b"") is None


def test_a_data_key_is_replaced_before_it_has_sealed_too_often() -> None:
    one = vault(OLD, seals=3)
    data = [one.seal(b"payload", b"bound") for _ in range(8)]

    assert len({found.wrapped for one in data if (found := sealing.parts(one))}) == 3
    assert all(one.unseal(memoryview(each), b"bound") == b"payload" for each in data)


def test_bytes_that_are_no_sealed_payload_are_nothing() -> None:
    one = vault(OLD)
    data = one.seal(b"payload", b"bound")

    for cut in range(len(data)):
        assert one.unseal(memoryview(data)[:cut], b"bound") is None
    assert one.unseal(memoryview(data), b"another") is None


async def test_a_keeper_is_asked_in_the_background_and_once() -> None:
    keeper = Keeper()
    one = vault(keeper)
    with pytest.raises(SealError):
        one.seal(b"payload", b"bound")

    async with running(one):
        data = await until_sealed(one)
        assert one.unseal(memoryview(data), b"bound") == b"payload"

    assert keeper.asked == 1


async def test_a_foreign_data_key_is_a_miss_until_the_keeper_has_opened_it() -> None:
    keeper = Keeper()
    one, other = vault(keeper), vault(keeper)
    async with running(one, other):
        data = await until_sealed(one)
        await until_sealed(other)
        assert other.unseal(memoryview(data), b"bound") is None
        await until_opened(other, data)

        assert keeper.asked == 3
        for _ in range(100):
            other.unseal(memoryview(data), b"bound")
        await settle()
        assert keeper.asked == 3


async def test_a_keeper_out_of_reach_heals_by_itself() -> None:
    keeper, clock = Keeper(), FakeClock()
    keeper.reachable = False
    events: list[Event] = []
    one = Vault([keeper], clock=clock, emit=events.append)
    async with running(one):
        await until(lambda: bool(events))
        with pytest.raises(SealError):
            one.seal(b"payload", b"bound")
        keeper.reachable = True
        await settle()
        clock.advance(1.0)
        await until(lambda: len(events) == 2)
        await until_sealed(one)

    assert events == [
        TierTurned("encryption", False, "out of reach"),
        TierTurned("encryption", True),
    ]


async def test_what_no_key_of_the_settings_opens_is_told() -> None:
    """Else two gateways with different keys would overwrite each other's answers for ever."""
    events: list[Event] = []
    one = Vault([OLD], clock=FakeClock(), emit=events.append)
    foreign = vault(NEW).seal(b"payload", b"")
    async with running(one):
        await settle()
        assert one.unseal(memoryview(foreign), b"") is None
        await until(lambda: TierFailed("encryption", "get", "UnknownKey") in events)


async def test_a_former_keeper_that_is_gone_keeps_nobody_from_sealing() -> None:
    """Nor does it look as if nothing could be sealed: only what it had wrapped is a miss."""
    new, former = Keeper("new"), Keeper("former")
    wrapped = former.make(b"s" * 32)
    former.reachable = False
    events: list[Event] = []
    one = Vault([new, former], clock=FakeClock(), emit=events.append)
    old = sealing.seal(wrapped, b"n" * 12, b"payload", b"")
    async with running(one):
        await until_sealed(one)
        assert one.unseal(memoryview(old), b"") is None
        await until(lambda: TierFailed("encryption", "get", "out of reach") in events)
        await until_sealed(one)

    assert not any(isinstance(event, TierTurned) for event in events)


async def test_a_data_key_that_no_one_opens_is_not_asked_for_again_and_again() -> None:
    keeper, clock = Keeper(), FakeClock()
    one = vault(keeper, clock=clock)
    foreign = sealing.seal(DataKey(keeper.id, b"w" * 40, b"s" * 32), b"n" * 12, b"payload", b"")
    async with running(one):
        await until_sealed(one)
        await until(lambda: one.unseal(memoryview(foreign), b"") is None and keeper.asked == 2)
        for _ in range(100):
            one.unseal(memoryview(foreign), b"")
        await asyncio.sleep(0.05)
        assert keeper.asked == 2
        clock.advance(3600.0)
        await until(lambda: one.unseal(memoryview(foreign), b"") is None and keeper.asked == 3)


async def test_no_more_data_keys_are_wanted_than_can_be_remembered() -> None:
    keeper = Keeper()
    one = vault(keeper)
    for number in range(1000):
        wrapped = number.to_bytes(40, "big")
        data = sealing.seal(DataKey(keeper.id, wrapped, b"s" * 32), b"n" * 12, b"", b"")
        one.unseal(memoryview(data), b"")
    async with running(one):
        await until_sealed(one)
        await until(lambda: keeper.asked == 257)
        await asyncio.sleep(0.05)

    assert keeper.asked == 257


def test_what_prints_itself_prints_no_key() -> None:
    one = vault(OLD)

    assert repr(one) == f"<Vault <Local {OLD.id.hex()}>, 1 keys known>"
    assert repr(Kms("alias/ours")) == f"<Kms {sealing.named('alias/ours').hex()}>"


# What the settings name


def made(key: str, *old: str, **environ: str) -> tuple[Wrapper, ...]:
    return wrappers(Encryption(key=key, old_keys=old), environ)


def test_keys_come_from_the_environment_and_from_files(tmp_path: Path) -> None:
    secret = bytes(range(150, 182))
    (tmp_path / "key").write_bytes(secret)
    text = base64.b64encode(secret).decode()

    found = made("env:KEK", f"file:{tmp_path}/key", "env:OLD", KEK=secret.hex(), OLD=text)

    assert {one.id for one in found} == {sealing.identity(secret)}
    assert len(found) == 3


def test_no_key_means_no_sealing() -> None:
    assert made("") == ()


def test_a_key_in_kms_is_not_asked_for_when_the_settings_are_read() -> None:
    (one,) = made("aws-kms:alias/ours")

    assert one.id == sealing.named("alias/ours")


def test_a_driver_that_is_missing_is_named_with_what_installs_it() -> None:
    settings = Encryption(key="env:KEK", old_keys=("aws-kms:alias/ours",))
    with pytest.raises(ConfigError, match=r"pip install 'hotprefix\[kms\]'.*old_keys\[0\]"):
        wrappers(settings, {"KEK": "ab" * 32}, lambda: False)


@pytest.mark.parametrize(
    ("key", "old", "message"),
    [
        ("env:MISSING", (), r"MISSING is not set - at `cache.encryption.key`"),
        ("env:SHORT", (), r"expected 32 bytes in base64 or hexadecimal"),
        ("env:PHRASE", (), r"expected 32 bytes in base64 or hexadecimal"),
        ("file:/nowhere/key", (), r"cannot read /nowhere/key: FileNotFoundError"),
        ("vault:x", (), r"expected env:NAME, file:PATH or aws-kms:KEY"),
        ("env:", (), r"expected env:NAME"),
        ("env:GOOD", ("env:MISSING",), r"MISSING is not set - at `cache.encryption.old_keys\[0"),
        ("", ("env:GOOD",), r"expected a key, since there are `old_keys`"),
    ],
)
def test_what_is_no_key_is_said_at_the_start(key: str, old: tuple[str, ...], message: str) -> None:
    values = {"SHORT": "abcd", "PHRASE": "p" * 32, "GOOD": "ab" * 32}
    with pytest.raises(ConfigError, match=message) as error:
        made(key, *old, **values)

    assert not any(value in str(error.value) for value in values.values())


# A real keeper


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsServer]:
    with AwsServer(tmp_path_factory.mktemp("aws")) as server:
        yield server


def key_id(aws: AwsServer) -> str:
    found: str = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    return found


def ours(aws: AwsServer, name: str) -> Kms:
    return Kms(name, lambda _: aws.client("kms", patience=1.0))


@pytest.mark.timeout(60)
async def test_gateways_share_what_they_store_through_a_key_in_kms(aws: AwsServer) -> None:
    name = key_id(aws)
    one, other = vault(ours(aws, name)), vault(ours(aws, name))
    async with running(one, other):
        await until_sealed(one)
        await until_sealed(other)
        data = coder(one).encode(entry("a"))
        await until(lambda: coder(other).decode(data, key("a")) == entry("a"))


@pytest.mark.timeout(60)
async def test_a_key_is_rotated_from_a_file_to_kms_and_back(aws: AwsServer) -> None:
    keeper = ours(aws, key_id(aws))
    before, after = vault(OLD, keeper), vault(keeper, OLD)
    async with running(before, after):
        await until_opened(after, before.seal(b"payload", b"bound"))
        await until_opened(before, await until_sealed(after))


@pytest.mark.timeout(60)
async def test_kms_does_not_open_what_another_of_its_keys_has_wrapped(aws: AwsServer) -> None:
    one, other = ours(aws, key_id(aws)), ours(aws, key_id(aws))
    made = await asyncio.to_thread(one.make, b"")

    assert await asyncio.to_thread(one.unwrap, made.wrapped) == made.secret
    assert await asyncio.to_thread(one.unwrap, b"garbage" * 20) is None
    assert await asyncio.to_thread(other.unwrap, made.wrapped) is None


@pytest.mark.timeout(60)
async def test_kms_frozen_at_the_start_keeps_nobody_waiting(aws: AwsServer) -> None:
    events: list[Event] = []
    clock = FakeClock()
    one = Vault([ours(aws, key_id(aws))], clock=clock, emit=events.append)
    aws.freeze()
    try:
        async with running(one):
            await until(lambda: bool(events))
            with pytest.raises(SealError):
                one.seal(b"payload", b"bound")
            aws.thaw()
            await settle()
            clock.advance(60.0)
            await until_sealed(one)
    finally:
        aws.thaw()

    assert events[0] == TierTurned("encryption", False, "ReadTimeoutError")


@pytest.mark.timeout(60)
async def test_an_unknown_key_in_kms_is_told_by_its_kind_alone(aws: AwsServer) -> None:
    keeper = ours(aws, "alias/nobody-knows-it")

    with pytest.raises(WrapperError, match=r"^NotFoundException$"):
        await asyncio.to_thread(keeper.make, b"")


def test_the_driver_is_looked_for_and_not_loaded() -> None:
    assert kms.installed()
    source = Path(kms.__file__).read_text()
    assert "\nimport boto" not in source
