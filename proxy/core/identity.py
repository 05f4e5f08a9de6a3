"""What makes two requests the same: the canonical bodies of one, and the keys made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from proxy.core import canonical, embeddings, media
from proxy.core.endpoint import Endpoint
from proxy.core.key import Scope
from proxy.core.question import question
from proxy.core.text import Place, places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.canonical import Fields
    from proxy.core.entry import Key, Question
    from proxy.core.message import Arrival
    from proxy.core.normalize import Normalizer
    from proxy.core.question import Why
    from proxy.core.request import Request
    from proxy.core.rules import Rules, Served


class Identity(NamedTuple):
    """The keys of one request, and what they were made from."""

    key: Key
    normalized: Key | None
    items: tuple[Key, ...]
    texts: tuple[str, ...]
    """As written; none if no rule asks for them."""
    body: bytes
    """Canonical."""
    normalized_body: bytes | None
    question: Question | Why | None
    """Or why none of another's answers would do; None: nobody asks."""


def identity(
    arrival: Arrival, fields: Fields, request: Request, served: Served, rules: Rules
) -> Identity:
    """The identity of a request with these `fields`, which are used up by it.

    Raises: RemoteMediaError; ValueError for embeddings of no known shape and for too deep a body.
    """
    kept = kept_fields(fields, request, rules)
    scope = Scope(scope_parts(arrival, request, served, rules))
    body = canonical.encoded(kept)
    found = places(request.endpoint, kept)
    texts = tuple(place.text for place in found) if rules.texts else ()
    items: tuple[Key, ...] = ()
    if request.endpoint is Endpoint.EMBEDDINGS:
        items = _items(kept, scope)
    asked: Question | Why | None = None
    if not items and rules.compares and request.controls.mode == "semantic":
        longest, tools = rules.compares, rules.compares_tools
        asked = question(request.endpoint, kept, scope, longest=longest, tools=tools)
    second = None
    if rules.normalizer is not None and request.controls.mode != "exact":
        second = _normalized(kept, body, found, rules.normalizer)
    return Identity(
        key=scope.key("exact", body),
        normalized=None if second is None else scope.key("normalized", second),
        items=items,
        texts=texts,
        body=body,
        normalized_body=second,
        question=asked,
    )


def kept_fields(fields: Fields, request: Request, rules: Rules) -> Fields:
    """The members that the answer depends on, as they go upstream, media by their content.

    Raises: RemoteMediaError.
    """
    content = media.by_content(fields, remote=rules.remote_media)
    ignored = rules.ignored(request.endpoint)
    kept = {name: value for name, value in content.items() if name not in ignored}
    if options := canonical.streamed(content.get("stream_options")):
        kept["stream_options"] = options
    if request.endpoint is Endpoint.CHAT and kept.get("store") is False:
        del kept["store"]  # the default
    if request.edits is not None and request.edits.model is not None:
        kept["model"] = request.edits.model
    return kept


def scope_parts(
    arrival: Arrival, request: Request, served: Served, rules: Rules
) -> list[tuple[str, str]]:
    """What the keys cover besides the body, labelled."""
    parts = [
        ("tenant", request.tenant.hex()),
        ("namespace", rules.namespace),
        ("asked namespace", request.controls.namespace),
        ("endpoint", request.endpoint.value),
        ("path", arrival.path),
        ("query", arrival.query),
        ("model", request.model),
        ("model version", served.model_version),
        ("template version", served.template_version),
    ]
    named = ((spelled.lower(), value) for spelled, value in arrival.headers)
    chosen = [("header " + name, value) for name, value in named if name in rules.key_headers]
    return parts + sorted(chosen, key=lambda header: header[0])  # of repeats, the order counts


def _items(kept: Fields, scope: Scope) -> tuple[Key, ...]:
    """A key for each item of an embeddings request, whatever batch it comes in."""
    found = embeddings.inputs(kept)
    if found is None:
        raise ValueError("expected a text, tokens, or a list of them")
    rest = {name: value for name, value in kept.items() if name != "input"}
    item = scope.narrowed("all but the item", canonical.encoded(rest))
    return tuple(item.key("item", canonical.encoded(value)) for value in found[0])


def _normalized(
    kept: Fields, body: bytes, found: Sequence[Place], normalizer: Normalizer
) -> bytes | None:
    """The canonical body with its texts normalized, or None if there is too much of them."""
    loose = [place for place in found if not place.literal]
    if not loose or _exceeds(loose, normalizer.max_bytes):
        return None
    texts = [normalizer.text(place.text) for place in loose]
    if all(text == place.text for text, place in zip(texts, loose, strict=True)):
        return body
    for text, place in zip(texts, loose, strict=True):
        place.holder[place.name] = text
    return canonical.encoded(kept)


def _exceeds(found: Sequence[Place], limit: int) -> bool:
    """Whether the texts are more than `limit` bytes; it reads no further than it has to."""
    size = 0
    for place in found:
        text = place.text
        size += len(text) if text.isascii() else len(text.encode())
        if size > limit:
            return True
    return False
