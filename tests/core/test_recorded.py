"""Lines of files as requests."""

from __future__ import annotations

import pytest

from proxy.core.recorded import CHAT, RecordError, recorded

BODY = b'{"model":"m", "messages":[], "n":1.0}'


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (BODY, CHAT),
        (b'{"body":%b}' % BODY, CHAT),
        (b'{"body":%b,"path":"/v1/messages","extra":{"took":1}}' % BODY, "/v1/messages"),
        (b'{"body":"{\\"model\\":\\"m\\", \\"messages\\":[], \\"n\\":1.0}"}', CHAT),
    ],
)
def test_a_body_is_taken_as_it_is_spelled(line: bytes, path: str) -> None:
    asked = recorded(line)

    assert (asked.method, asked.path, asked.query, asked.body) == ("POST", path, "", BODY)


def test_a_body_that_has_a_member_called_body_is_one_itself() -> None:
    line = b'{"model":"m","messages":[],"body":"x"}'

    assert recorded(line).body == line


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"\xff", b'{"body":1}', b'{"body":"x"}'])
def test_what_holds_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(RecordError, match="not a request"):
        recorded(line)


def test_what_is_json_and_no_request_is_told_in_words() -> None:
    with pytest.raises(RecordError, match=r"expected a request's JSON body, or an object with"):
        recorded(b'{"body":{},"headers":5}')


@pytest.mark.parametrize("path", ["/v1/models", "/v1/files", ""])
def test_an_operation_without_a_prompt_is_refused(path: str) -> None:
    with pytest.raises(RecordError, match="no operation that has a prompt"):
        recorded(b'{"body":{},"path":"%b"}' % path.encode())


def test_the_query_is_no_part_of_the_path() -> None:
    asked = recorded(b'{"body":{},"path":"/openai/deployments/d/chat/completions?api-version=1"}')

    assert (asked.path, asked.query) == ("/openai/deployments/d/chat/completions", "api-version=1")


def test_a_credential_is_added_where_there_is_none() -> None:
    added = recorded(BODY, "sk-1").headers
    own = recorded(b'{"body":{},"headers":{"X-Api-Key":"k","Host":"h"}}', "sk-1").headers

    assert added == (("content-type", "application/json"), ("authorization", "Bearer sk-1"))
    assert own == (("X-Api-Key", "k"), ("content-type", "application/json"))
