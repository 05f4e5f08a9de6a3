"""Which API operation a path names, and where that path lies on an upstream."""

from __future__ import annotations

import re
from enum import Enum
from posixpath import normpath
from typing import Final
from urllib.parse import unquote

from proxy.core.recent import recent


class Endpoint(Enum):
    """The operations whose answers may be stored; everything else passes through."""

    CHAT = "chat/completions"
    COMPLETIONS = "completions"
    EMBEDDINGS = "embeddings"
    RESPONSES = "responses"
    MESSAGES = "messages"


# Azure's deployment paths are the same operations. `messages` is Anthropic's only directly
# below the version: `/v1/threads/{id}/messages` is another API with the same last word.
_PATH: Final = re.compile(
    r"(?:/v1|/openai/v1|/openai/deployments/[^/]+)?/(chat/completions|completions|embeddings|responses)"
    r"|/v1/(messages)"
)


@recent(256, lambda _method, path: len(path))
def recognise(method: str, path: str) -> Endpoint | None:
    """The operation that may be cached, or None: pass through. `path` is raw, without the query."""
    if method != "POST":
        return None
    found = _PATH.fullmatch(path)
    return None if found is None else Endpoint(found[1] or found[2])


@recent(256, lambda _method, path: len(path))
def disguised(method: str, path: str) -> bool:
    """Whether a path that is none of the operations may be one to an upstream: with other
    slashes, dots, escapes or case, or below a base of the upstream's own."""
    plain = normpath(unquote(path)).lower()
    return method.upper() == "POST" and _TAIL.search(plain) is not None


_TAIL: Final = re.compile(r"/(?:completions|embeddings|responses|v1/messages)$")


def target(base_path: str, path: str) -> str:
    """The path on an upstream whose URL has `base_path`, for a client's raw `path`.

    A base path takes the place of the client's leading `/v1`; a path below no version is taken
    from the upstream's root. `target("/api/v1", "/v1/models")` is `/api/v1/models`.
    """
    base = base_path.rstrip("/")
    if not base or path == base or path.startswith(base + "/"):
        return path
    if path == "/v1" or path.startswith("/v1/"):
        return base + path[3:]
    return base + path if _PATH.fullmatch("/v1" + path) else path
