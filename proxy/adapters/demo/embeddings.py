"""The demo upstream's embeddings: unit vectors that depend on the input alone."""

from __future__ import annotations

import base64
import math
import struct
from typing import Any, Final

import orjson
from blake3 import blake3

from proxy.adapters.demo.answer import Fields, RefusedError, labelled, required, tokens

_DIMENSIONS: Final = 256


def embeddings(fields: Fields, kept: int = 0) -> Fields:
    """A list of embeddings in the order of the inputs, of which nothing is `kept`. Raises
    RefusedError."""
    inputs = _inputs(required(fields, "input", (str, list)))
    model = labelled(required(fields, "model", str))
    size = fields.get("dimensions") or _DIMENSIONS
    if not isinstance(size, int) or not 1 <= size <= 4096:
        raise RefusedError("expected a whole number from 1 to 4096 for 'dimensions'", "dimensions")
    encoded = fields.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": _vector(model, one, size, encoded)}
        for i, one in enumerate(inputs)
    ]
    asked = sum(len(one) if isinstance(one, list) else tokens(one) for one in inputs)
    usage = {"prompt_tokens": asked, "total_tokens": asked}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def _inputs(value: Any) -> list[Any]:
    """A text, a list of texts, one list of token ids, or a list of those."""
    if isinstance(value, str) or isinstance(value[0], int):
        return [value]
    return list(value)


def _vector(model: str, value: Any, size: int, encoded: bool) -> str | list[float]:
    """float32 of length 1: as numbers, or the same numbers as base64 of little-endian bytes."""
    seed = blake3(orjson.dumps([model, value])).digest(length=4 * size)
    raw = [number / 2**31 - 1 for number in struct.unpack(f"<{size}I", seed)]
    length = math.sqrt(sum(number * number for number in raw)) or 1.0
    packed = struct.pack(f"<{size}f", *(number / length for number in raw))
    if encoded:
        return base64.b64encode(packed).decode()
    return list(struct.unpack(f"<{size}f", packed))
