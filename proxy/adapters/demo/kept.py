"""What the demo upstream keeps of prompts, as an engine does: blocks, named by all before them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import orjson
from blake3 import blake3

TOKENS: Final = 16
"""Of a block; less than one is not kept."""
_BYTES: Final = 4 * TOKENS
MOST: Final = 65_536
"""Blocks: a million tokens. Those not used for longest go first."""


class Kept:
    """Of one demo upstream, in memory."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._blocks: OrderedDict[bytes, None] = OrderedDict()

    def count(self, model: object, prompt: object) -> int:
        """Tokens with which a prompt before began in the same way; this one is kept from now on."""
        names = _chain(model, prompt)
        known = next((i for i, name in enumerate(names) if name not in self._blocks), len(names))
        for name in reversed(names):  # of one prompt the end goes first: it is worth nothing alone
            self._blocks[name] = None
            self._blocks.move_to_end(name)
        while len(self._blocks) > self._most:
            self._blocks.popitem(last=False)
        return known * TOKENS


def _chain(model: object, prompt: object) -> list[bytes]:
    text, name, names = orjson.dumps(prompt), orjson.dumps(model), []
    for end in range(_BYTES, len(text) + 1, _BYTES):
        name = blake3(name + text[end - _BYTES : end]).digest(length=16)
        names.append(name)
    return names
