"""A wrapping key in AWS KMS, which hands out data keys and unwraps them."""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING, Any, Final

from proxy.adapters.vault.wrapper import WrapperError
from proxy.core.sealing import SECRET, DataKey, named

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTEXT: Final = {"hotprefix": "data-key"}
"""KMS logs it, and unwraps under the same one only."""
_CONNECTING: Final = 2.0
_ANSWERING: Final = 3.0
"""Seconds; the end of the process may have to wait for them."""
_OF_THE_KEY: Final = frozenset(
    {
        "AccessDeniedException",
        "DisabledException",
        "InvalidCiphertextException",
        "IncorrectKeyException",
        "KMSInvalidStateException",
        "NotFoundException",
        "ValidationException",
    }
)
"""Answers about this one key: the others can be asked for."""


def installed() -> bool:
    """Whether the driver is there. It is not loaded: that takes long, and a lot of memory."""
    return importlib.util.find_spec("boto3") is not None


class Kms:
    """A key by its id, ARN or alias."""

    waits = True

    def __init__(self, name: str, connect: Callable[[str], Any] | None = None) -> None:
        """`connect`: makes the client for a key; region, address and credentials are from the
        environment otherwise, as AWS' own tools read them."""
        self.id = named(name)
        self._name = name
        self._connect = connect or _connect
        self._client: Any = None
        self._lock = threading.Lock()

    def make(self, chance: bytes) -> DataKey:
        answer = self._ask("generate_data_key", KeySpec="AES_256")
        wrapped, secret = answer["CiphertextBlob"], answer["Plaintext"]
        if len(secret) != SECRET:
            raise WrapperError("expected a data key of 32 bytes")
        return DataKey(self.id, wrapped, secret)

    def unwrap(self, wrapped: bytes) -> bytes | None:
        try:
            secret: bytes = self._ask("decrypt", CiphertextBlob=wrapped)["Plaintext"]
        except WrapperError as error:
            if str(error) in _OF_THE_KEY:
                return None
            raise
        return secret if len(secret) == SECRET else None

    def _ask(self, operation: str, **arguments: object) -> Any:
        import botocore.exceptions as errors  # an extra, and slow to load: only where it is used

        try:
            with self._lock:
                self._client = self._client or self._connect(self._name)
            ask = getattr(self._client, operation)
            return ask(KeyId=self._name, EncryptionContext=_CONTEXT, **arguments)
        except errors.ClientError as error:
            raise WrapperError(error.response["Error"]["Code"]) from error
        except (errors.BotoCoreError, OSError, ValueError) as error:
            raise WrapperError(type(error).__name__) from error

    def __repr__(self) -> str:
        return f"<Kms {self.id.hex()}>"


def _connect(name: str) -> Any:
    import boto3
    from botocore.config import Config

    # An ARN says where the key is: arn:aws:kms:REGION:ACCOUNT:key/ID
    region = name.split(":")[3] if name.startswith("arn:") and name.count(":") >= 5 else None
    patience = Config(
        connect_timeout=_CONNECTING, read_timeout=_ANSWERING, retries={"total_max_attempts": 1}
    )
    return boto3.session.Session().client("kms", region_name=region, config=patience)
