"""Media inside bodies: same bytes, same content, however they are written down."""

from __future__ import annotations

import base64
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.canonical import Opaque, encoded
from proxy.core.media import RemoteMediaError, by_content

PNG = "data:image/png;base64,"


def message(*parts: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


def picture(url: Any, **more: Any) -> dict[str, Any]:
    return message({"type": "image_url", "image_url": {"url": url, **more}})


def source(**members: Any) -> dict[str, Any]:
    return message({"type": "image", "source": members})


def content(fields: dict[str, Any], *, remote: bool = False) -> bytes:
    return encoded(by_content(fields, remote=remote))


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@given(st.binary(max_size=90), st.binary(max_size=90))
def test_pictures_are_the_same_exactly_if_their_bytes_are(one: bytes, other: bytes) -> None:
    wrapped = "\n".join(textwrap.wrap(b64(one), 20))

    left, right = content(picture(PNG + wrapped)), content(picture(PNG + b64(other)))

    assert (left == right) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (picture(PNG + "QUJD"), picture("data:image/jpeg;base64,QUJD")),
        (picture(PNG + "QUJD"), picture(PNG + "QUJD", detail="high")),
        (picture(PNG + "QUJD", detail="low"), picture(PNG + "QUJD", detail="high")),
        (
            message({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
            message({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}}),
        ),
        (
            message({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
            message({"type": "input_audio", "input_audio": {"data": "QUJE", "format": "wav"}}),
        ),
        (
            message({"type": "file", "file": {"file_data": PNG + "QUJD", "filename": "a"}}),
            message({"type": "file", "file": {"file_data": PNG + "QUJD", "filename": "b"}}),
        ),
        (
            source(type="base64", media_type="image/png", data="QUJD"),
            source(type="base64", media_type="image/gif", data="QUJD"),
        ),
        (
            source(type="text", media_type="text/plain", data="QUJD"),
            source(type="text", media_type="text/plain", data="QU JD"),
        ),
        (picture(PNG + "no* base64"), picture(PNG + "no*base64")),
        (picture("data:,a%20b"), picture("data:,a b")),
    ],
)
def test_media_that_differ(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert content(one) != content(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (picture(PNG + "QUJD"), picture("DATA:image/PNG;base64,QUJD")),
        (
            message({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
            message({"type": "input_audio", "input_audio": {"data": "QU\nJD", "format": "wav"}}),
        ),
        (
            {
                "input": [
                    {
                        "role": "user",
                        "content": [{"type": "input_image", "image_url": PNG + "QUJD"}],
                    }
                ]
            },
            {
                "input": [
                    {
                        "role": "user",
                        "content": [{"type": "input_image", "image_url": PNG + "QUJD\n"}],
                    }
                ]
            },
        ),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_file", "file_data": PNG + "QUJD"}]}
                ]
            },
            {
                "input": [
                    {
                        "role": "user",
                        "content": [{"type": "input_file", "file_data": PNG + "QU JD"}],
                    }
                ]
            },
        ),
        (
            source(type="base64", media_type="image/png", data="QUJD"),
            source(type="base64", media_type="image/png", data="QU\r\nJD"),
        ),
        (
            message(
                {
                    "type": "tool_result",
                    "content": [source(data="QUJD")["messages"][0]["content"][0]],
                }
            ),
            message(
                {
                    "type": "tool_result",
                    "content": [source(data="QUJ D")["messages"][0]["content"][0]],
                }
            ),
        ),
        (
            source(type="content", content=[picture(PNG + "QUJD")["messages"][0]["content"][0]]),
            source(type="content", content=[picture(PNG + "QUJ D")["messages"][0]["content"][0]]),
        ),
        (
            {
                "input": [
                    {
                        "type": "computer_call_output",
                        "output": {"type": "computer_screenshot", "image_url": PNG + "QUJD"},
                    }
                ]
            },
            {
                "input": [
                    {
                        "type": "computer_call_output",
                        "output": {"type": "computer_screenshot", "image_url": PNG + "QUJ D"},
                    }
                ]
            },
        ),
    ],
)
def test_media_that_are_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert content(one) == content(other)


REMOTE = [
    picture("https://host/a.png"),
    picture("file-123"),
    message({"type": "image_url", "image_url": "https://host/a.png"}),
    message({"type": "video_url", "video_url": {"url": "http://host/a.mp4"}}),
    message({"type": "file", "file": {"file_id": "file-1"}}),
    message({"type": "input_image", "file_id": "file-1"}),
    message({"type": "container_upload", "file_id": "file-1"}),
    {
        "input": [
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://host/a"}]}
        ]
    },
    {
        "input": [
            {"role": "user", "content": [{"type": "input_file", "file_url": "https://host/a"}]}
        ]
    },
    {
        "input": [
            {"type": "function_call_output", "output": [{"type": "input_file", "file_id": "f"}]}
        ]
    },
    message({"type": "input_image", "content": "a", "image_url": "https://host/a"}),
    source(type="url", url="https://host/a.png"),
    source(type="file", file_id="file_1"),
    message(
        {"type": "tool_result", "content": [{"type": "image", "source": {"url": "https://host/a"}}]}
    ),
]


@pytest.mark.parametrize("fields", REMOTE)
def test_media_elsewhere_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(RemoteMediaError):
        by_content(fields, remote=False)


@pytest.mark.parametrize("fields", REMOTE)
def test_media_elsewhere_count_by_their_address_where_they_are_allowed(
    fields: dict[str, Any],
) -> None:
    assert by_content(fields, remote=True) == fields


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"messages": "hello", "input": 5},
        {"messages": [1, None, {"role": "user", "content": "https://host/a.png"}]},
        message("https://host/a.png", {"type": "text", "text": PNG + "QUJD"}),
        message({"type": ["image_url"], "image_url": {"url": 5}}),
        message({"type": "image_url", "image_url": None}),
        message({"type": "image_url", "image_url": 5}),
        {"tools": [{"type": "image_url", "image_url": {"url": "https://host/a.png"}}]},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"file_id": "f"}]}]},
    ],
)
def test_what_is_no_medium_is_left_alone(fields: dict[str, Any]) -> None:
    assert by_content(fields, remote=False) == fields


def test_a_body_without_media_is_not_copied() -> None:
    fields = message({"type": "text", "text": "hello"})

    assert by_content(fields, remote=False) is fields


def test_the_fields_given_are_not_changed() -> None:
    fields = picture(PNG + "QUJD")

    by_content(fields, remote=False)

    assert fields == picture(PNG + "QUJD")


def test_a_body_cannot_forge_a_picture() -> None:
    """What a digest is written as is no string, so no request can spell it."""
    honest = content(picture(PNG + "QUJD"))
    digest = honest.split(b'"url":')[1].split(b">")[0].decode() + ">"

    assert isinstance(by_content(picture(PNG + "QUJD"), remote=False)["messages"], list)
    assert content(picture(digest), remote=True) != honest
    assert Opaque("image/png", b"") != Opaque("", b"")
