"""Sealed payloads: a ciphertext, and beside it the key that it needs, wrapped by another."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Final, NamedTuple

from blake3 import blake3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

SECRET: Final = 32
"""Bytes of a key, of both kinds: AES-256."""
NONCE: Final = 12
SEALS: Final = 1 << 32
"""Times that one data key may seal under nonces of chance: beyond, two may become alike (NIST SP
800-38D, 8.3)."""

# id of the wrapping key, length of the wrapped data key
_HEAD: Final = struct.Struct(">8sH")
_ID: Final = 8
_LONGEST: Final = 4096
"""Bytes of a wrapped key; KMS returns less than 200."""
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
"""Both alphabets of base64 are used for keys."""
_LOCAL: Final = "hotprefix 2026 id of a wrapping key"
_NAMED: Final = "hotprefix 2026 id of a key by its name"


class DataKey(NamedTuple):
    """What seals: a secret of chance, and the same as the key `id` has wrapped it."""

    id: bytes
    wrapped: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"<DataKey {self.id.hex()}>"


class Sealed(NamedTuple):
    """The parts of a sealed payload."""

    id: bytes
    wrapped: bytes
    nonce: bytes
    text: bytes | memoryview


def material(text: bytes) -> bytes | None:
    """The key that is meant: its 32 bytes, or those in hexadecimal or base64."""
    if len(text) == SECRET and not text.isascii():
        return text  # 32 letters are a pass phrase, not a key
    text = text.strip()
    try:
        if len(text) == 2 * SECRET:
            return bytes.fromhex(text.decode("ascii"))
        found = base64.b64decode(text.translate(_STANDARD) + b"=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if len(found) == SECRET else None


def identity(secret: bytes) -> bytes:
    """What a wrapping key is called in what it wrapped."""
    return blake3(secret, derive_key_context=_LOCAL).digest(_ID)


def named(name: str) -> bytes:
    """What a wrapping key that never leaves its keeper is called."""
    return blake3(name.encode(), derive_key_context=_NAMED).digest(_ID)


def wrap(master: bytes, secret: bytes) -> DataKey:
    """A data key of this secret, wrapped by `master` (RFC 3394)."""
    return DataKey(identity(master), aes_key_wrap(master, secret), secret)


def unwrap(master: bytes, wrapped: bytes) -> bytes | None:
    """The secret that `master` wrapped, if it did."""
    try:
        return aes_key_unwrap(master, wrapped)
    except InvalidUnwrap:
        return None


def seal(key: DataKey, nonce: bytes, payload: bytes, bound: bytes) -> bytes:
    """`payload` so that only who can unwrap the key reads it, and only as bound to `bound`."""
    head = _HEAD.pack(key.id, len(key.wrapped)) + key.wrapped + nonce
    return head + AESGCM(key.secret).encrypt(nonce, payload, bound)


def parts(data: bytes | memoryview) -> Sealed | None:
    """What a sealed payload consists of; None: it is none."""
    if len(data) < _HEAD.size:
        return None
    key_id, length = _HEAD.unpack_from(data)
    nonce = _HEAD.size + length
    text = nonce + NONCE
    if length > _LONGEST or len(data) < text:
        return None
    return Sealed(key_id, bytes(data[_HEAD.size : nonce]), bytes(data[nonce:text]), data[text:])


def opened(sealed: Sealed, secret: bytes, bound: bytes) -> bytes | None:
    """The payload, if it was sealed with this secret and bound to this."""
    try:
        return AESGCM(secret).decrypt(sealed.nonce, sealed.text, bound)
    except (InvalidTag, ValueError):
        return None
