"""What lies in the stores behind gateways, looked at from outside; and the operator's purge."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.aws_server import AwsServer
    from tests.gateway import Gateway, Settings
    from tests.redis_server import RedisServer

DEAR, CHEAP = "m-dear", "m-cheap"
PRICES: Settings = {
    "model": [{"name": DEAR, "price": 1e9}, {"name": CHEAP, "price": 0.0}],
}
"""The mock's answers take no time, so it is the price that makes one dear."""


def asked(text: str, model: str = DEAR, **more: Any) -> dict[str, Any]:
    """A chat request."""
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def purge(gateway: Gateway, scope: dict[str, str]) -> int:
    """The status of a purge."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{gateway.admin_port}/admin/purge",
        json.dumps(scope).encode(),
        {"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def names(redis: RedisServer) -> set[bytes]:
    """Of all keys."""
    with redis.client() as client:
        return set(client.scan_iter(count=1000))


def keys(redis: RedisServer) -> set[str]:
    """The keys of stored values, in hexadecimal."""
    found = (name.decode() for name in names(redis) if name.endswith(b":e"))
    return {name.partition("{")[2].partition("}")[0] for name in found}


def flying(redis: RedisServer) -> str:
    """The key of the only flight, in hexadecimal."""
    (name,) = (name for name in names(redis) if b"}:l" in name)
    return name.decode().partition("{")[2].partition("}")[0]


def forget_ours(redis: RedisServer, prefix: bytes = b"hotprefix:") -> None:
    """Delete all that gateways have put there."""
    with redis.client() as client:
        for name in names(redis):
            if name.startswith(prefix):
                client.delete(name)


def dumped(redis: RedisServer) -> bytes:
    """Every name and every value, of whatever type."""
    read: dict[bytes, Callable[[Any, bytes], bytes]] = {
        b"string": lambda client, name: client.get(name) or b"",
        b"zset": lambda client, name: repr(client.zrange(name, 0, -1, withscores=True)).encode(),
        b"hash": lambda client, name: repr(client.hgetall(name)).encode(),
        b"stream": lambda client, name: repr(client.xrange(name)).encode(),
    }
    with redis.client() as client:
        return b"".join(
            name + (read[kind](client, name) if (kind := client.type(name)) != b"none" else b"")
            for name in names(redis)
        )


def files(folder: Path) -> dict[str, bytes]:
    """All files below, by their names there; not those that are being written."""
    found = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@dataclass
class Place:
    """Where objects are kept."""

    url: str
    env: dict[str, str]
    folder: Path | None = None
    aws: AwsServer | None = None

    @property
    def settings(self) -> Settings:
        return {**PRICES, "cache": {"objects": {"url": self.url, "timeout": "2s"}}}

    def objects(self) -> dict[str, bytes]:
        """The answers that are there, by their names."""
        return {name: data for name, data in self.all().items() if "epoch-" not in name}

    def epoch(self) -> bytes:
        """What lies beside them."""
        return b"".join(data for name, data in self.all().items() if "epoch-" in name)

    def all(self) -> dict[str, bytes]:
        """All that is there, by its name."""
        if self.folder is not None:
            return files(self.folder)
        assert self.aws is not None
        client, bucket = self.aws.client("s3"), self.url.removeprefix("s3://").partition("/")[0]
        rows = client.list_objects_v2(Bucket=bucket).get("Contents", [])
        found = (row["Key"] for row in rows)
        return {name: client.get_object(Bucket=bucket, Key=name)["Body"].read() for name in found}
