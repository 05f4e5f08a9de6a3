"""Any model of sentence-transformers, by name or folder: an extra, for it needs PyTorch."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ENGLISH: Final = ("all-minilm", "all-mpnet", "all-distilroberta", "all-roberta", "langcache")
"""Parts of the names of models that were trained on English alone; the tokenizer of some of them
takes any byte, and so does not show it."""
_PROBE: Final = "如何开启自动续费，怎么关闭这个功能，我的订单什么时候能到，退款需要多久"
_MOST_UNKNOWN: Final = 0.1
"""Share of the probe's tokens: a vocabulary made for Chinese has them all."""
_MOST_PIECES: Final = 1.5
"""Tokens for a character; more, and they are bytes of which the model never saw a word."""


class Transformer:
    """A model that was not pinned: its tag has a digest of all that its vectors depend on."""

    batches = True
    parallel = False

    def __init__(self, name: str) -> None:
        """Loads it, from a model hub if it is no folder. Raises: EmbedderError; ImportError where
        the extra is not installed."""
        # An extra of a gigabyte, which takes seconds to import.
        import torch
        from sentence_transformers import SentenceTransformer
        from tokenizers import Tokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        # More threads would take the cores from those who serve.
        torch.set_num_threads(1)
        try:
            model = SentenceTransformer(name, device="cpu", trust_remote_code=False)
        except Exception as error:  # Whatever is wrong with a folder, or with the way to a hub.
            raise EmbedderError(f"{name!r} cannot be loaded: {type(error).__name__}") from error
        self._model = model
        if not isinstance(getattr(model.tokenizer, "backend_tokenizer", None), Tokenizer):
            raise EmbedderError(f"{name!r} has no fast tokenizer, which tells whether text is cut")
        # A copy: the model's own is changed by each call, in another thread.
        self._tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._unknown: int | None = model.tokenizer.unk_token_id
        self._longest = int(model.max_seq_length or model.tokenizer.model_max_length)
        self.dimension = int(model.get_embedding_dimension())
        self.languages: frozenset[str] | None = frozenset({"en"}) if self._english(name) else None
        self.tag = f"{PurePath(name).name}:{self._revision()}:{self.dimension}"

    def whole(self, text: str) -> bool:
        tokens = self._tokenizer.encode(self._prompt() + text).ids
        return len(tokens) <= self._longest and self._unknown not in tokens

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        rows: NDArray[Any] = self._model.encode(
            list(texts), convert_to_numpy=True, show_progress_bar=False
        )
        return rows

    def _prompt(self) -> str:
        """What the model puts before each text."""
        name = self._model.default_prompt_name
        return str(self._model.prompts[name]) if name else ""

    def _english(self, name: str) -> bool:
        if any(part in name.lower() for part in _ENGLISH) or name.lower().endswith("-en"):
            return True
        tokens = self._tokenizer.encode(_PROBE, add_special_tokens=False).ids
        unknown = tokens.count(self._unknown) if self._unknown is not None else 0
        return unknown > _MOST_UNKNOWN * len(tokens) or len(tokens) > _MOST_PIECES * len(_PROBE)

    def _revision(self) -> str:
        """Of weights, tokenizer, and how tokens become one vector."""
        import torch

        digest = sha256(self._tokenizer.to_str().encode())
        shape = [
            part.get_config_dict() if hasattr(part, "get_config_dict") else type(part).__name__
            for part in self._model.children()
        ]
        said = [self._longest, self._prompt(), shape]
        digest.update(json.dumps(said, sort_keys=True, default=str).encode())
        for name, weights in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(weights.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()[:12]
