"""The fleet's secret: who has it is let in, and what it seals nobody else can read or change.

Both sides of a connection say a random nonce. HKDF (RFC 5869) makes of the secret and the two
nonces one key for each direction; each frame is AES-256-GCM under its number on that connection,
so that what is changed, left out, repeated or moved does not open. Whoever asks proves with its
nonce that it has the secret, so that a stranger is not even told the other nonce.
"""

from __future__ import annotations

import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

NONCE: Final = 32
HELLO: Final = NONCE + 32
TAG: Final = 16
"""Bytes that a seal adds."""

_KEY: Final = 32
_ABOUT: Final = b"hotprefix peers 1 "


class Seal:
    """One direction of one connection: the nth call of `close` fits the nth of `open`."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._count = 0

    def close(self, data: bytes | memoryview, beside: bytes = b"") -> bytes:
        """Sealed together with `beside`, which is sent as it is."""
        return self._cipher.encrypt(self._number(), data, beside)

    def open(self, data: bytes, beside: bytes = b"") -> bytes:
        """Raises: ConnectionAbortedError where it is not what was sealed next."""
        try:
            return self._cipher.decrypt(self._number(), data, beside)
        except InvalidTag as error:
            raise ConnectionAbortedError("not sealed by a peer") from error

    def _number(self) -> bytes:
        self._count += 1
        return self._count.to_bytes(12, "big")


class Secret:
    """What all gateways of a fleet share."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._proof = _derived(secret, b"", b"hello", _KEY)

    def hello(self, nonce: bytes) -> bytes:
        """The first words of who asks."""
        return nonce + hmac.digest(self._proof, nonce, "sha256")

    def nonce(self, hello: bytes) -> bytes:
        """Raises: ConnectionAbortedError where a stranger said it."""
        nonce = hello[:NONCE]
        if not hmac.compare_digest(self.hello(nonce), hello):
            raise ConnectionAbortedError("a stranger")
        return nonce

    def seals(self, asking: bytes, asked: bytes) -> tuple[Seal, Seal]:
        """For what the asking side says and for what it hears, by the nonces of both sides."""
        keys = _derived(self._secret, asking + asked, b"frames", 2 * _KEY)
        return Seal(keys[:_KEY]), Seal(keys[_KEY:])

    def __repr__(self) -> str:
        return "<Secret>"


def _derived(secret: bytes, salt: bytes, use: bytes, size: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=size, salt=salt, info=_ABOUT + use).derive(secret)
