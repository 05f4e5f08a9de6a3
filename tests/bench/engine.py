"""A trial against a real engine: the same completion asked twice, in both forms.

`python -m tests.bench.engine --upstream http://127.0.0.1:PORT/v1 --model NAME` starts the proxy in
front of an OpenAI-compatible engine that runs already (llama-server, vLLM, …) and prints for each
request how long it took to the first and the last byte and where the answer came from. Exits 1 if
a second answer was not a hit, or said something else than the first.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.gateway import Gateway

_PROMPT = "Explain in a few sentences why the sky is blue."


class Answer(NamedTuple):
    """One answer; times are seconds."""

    first: float
    last: float
    cache: str
    form: str
    text: str


def ask(port: int, model: str, *, stream: bool, prompt: str) -> Answer:
    """Ask once, without any client library in between."""
    messages = [{"role": "user", "content": prompt}]
    body = {"model": model, "messages": messages, "max_tokens": 96, "temperature": 0.7, "seed": 1}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    try:
        sent = json.dumps(body | {"stream": stream})
        headers = {"content-type": "application/json"}
        connection.request("POST", "/v1/chat/completions", sent, headers)
        response = connection.getresponse()
        received = response.read(1)
        first = time.perf_counter() - start
        received += response.read()
    finally:
        connection.close()
    cache = "/".join(filter(None, (response.headers["x-cache"], response.headers["x-cache-tier"])))
    form = response.headers["content-type"].partition(";")[0]
    return Answer(first, time.perf_counter() - start, cache, form, _text(received, form))


def _text(body: bytes, form: str) -> str:
    if form == "application/json":
        return str(json.loads(body)["choices"][0]["message"]["content"])
    events = [line[5:].strip() for line in body.decode().splitlines() if line.startswith("data:")]
    deltas = [json.loads(event)["choices"] for event in events if event != "[DONE]"]
    return "".join(choice["delta"].get("content") or "" for found in deltas for choice in found)


def main() -> int:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", required=True, help="the engine's base URL, with /v1")
    parser.add_argument("--model", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder), args.upstream, {})
        gateway.start()
        try:
            rows = _rows(gateway, args.model)
        finally:
            gateway.stop()
    print(f"{'asked':34}{'first byte':>12}{'last byte':>12}  answered by")
    for name, answer in rows:
        times = f"{answer.first * 1000:>9.1f} ms{answer.last * 1000:>9.1f} ms"
        print(f"{name:34}{times}  {answer.cache}, {answer.form}")
    texts = [answer.text for _, answer in rows]
    same = all(text == texts[i - i % 3] for i, text in enumerate(texts)) and all(texts)
    hits = all(answer.cache.startswith("HIT") for i, (_, answer) in enumerate(rows) if i % 3)
    print("same text" if same else "TEXTS DIFFER", "and hits" if hits else "and NOT all hits")
    return 0 if same and hits else 1


def _rows(gateway: Gateway, model: str) -> list[tuple[str, Answer]]:
    rows = []
    for born, prompt in (("json", _PROMPT), ("stream", _PROMPT + " Be brief.")):
        first = born == "stream"
        for name, stream in (("first", first), ("again", first), ("in the other form", not first)):
            answer = ask(gateway.port, model, stream=stream, prompt=prompt)
            rows.append((f"{born}, {name}", answer))
    return rows


if __name__ == "__main__":
    sys.exit(main())
