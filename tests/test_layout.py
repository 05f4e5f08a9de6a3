"""What the tree promises: sizes, a test file for each part of the core, nothing undocumented."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from proxy.config import Config
from proxy.core.families import FAMILIES
from tests.test_config import EXAMPLE, uncommented

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for name in ("proxy", "semantic") for path in (ROOT / name).rglob("*.py"))
CORE = [path for path in SOURCES if path.is_relative_to(ROOT / "proxy/core")]

MUTATIONS: list[dict[str, Any]] = tomllib.loads(
    (ROOT / "tests/bench/mutations.toml").read_text(encoding="utf-8")
)["mutation"]

# Lists are as long as what they list; cut in two, they would be read in two places.
LONGER = {"proxy/config.py": 591, "proxy/core/events.py": 460}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def settings(table: type[msgspec.Struct], path: str = "") -> list[tuple[str, str]]:
    """Every setting below this table, as its table's path and its own name."""
    found = []
    for field, hint in get_type_hints(table).items():
        kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
        tables = [kind for kind in kinds if issubclass(kind, msgspec.Struct)]
        below = f"{path}.{field}" if path else field
        found += settings(tables[0], below) if tables else [(path, field)]
    return found


def values(text: str, table: str) -> str:
    """The lines of one table of a TOML text, from its header to the next."""
    found = re.search(rf"^\[+{re.escape(table)}\]+$(.*?)(?=^\[|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def test_the_path_is_short_enough_to_be_read_at_once() -> None:
    assert len((ROOT / "proxy/pipeline.py").read_text().splitlines()) < 200


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= LONGER.get(name(path), 250)
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_functions_are_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]

    assert [f"{f.name}: {length(f)}" for f in functions if length(f) > 30] == []


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the signature to the end, without the docstring."""
    documented = ast.get_docstring(function) is not None
    first = function.body[0]
    text = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - text


def decides(path: Path) -> bool:
    """Whether there is anything to test: a module of values alone has no function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))


@pytest.mark.parametrize("path", [path for path in CORE if decides(path)], ids=name)
def test_each_part_of_the_core_has_its_tests(path: Path) -> None:
    inner = path.relative_to(ROOT / "proxy/core")

    assert (ROOT / "tests/core" / inner.with_name(f"test_{inner.name}")).exists()


def test_a_port_has_at_most_three_methods() -> None:
    tree = ast.parse((ROOT / "proxy/ports.py").read_text(encoding="utf-8"))
    methods = {
        node.name: sum(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) for n in node.body)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and "Protocol" in ast.unparse(node)
    }

    assert methods
    assert {port: count for port, count in methods.items() if count > 3} == {}


@pytest.mark.parametrize(("table", "field"), settings(Config), ids=".".join)
def test_each_setting_is_in_the_example_and_explained(table: str, field: str) -> None:
    assert re.search(rf"^{field} = ", values(uncommented(EXAMPLE.read_text()), table), re.MULTILINE)
    assert f"`{field}`" in readme()


@pytest.mark.parametrize("metric", FAMILIES)
def test_each_metric_is_in_the_manual(metric: str) -> None:
    assert f"hotprefix_{metric}" in readme()


def routes() -> list[Any]:
    source = (ROOT / "proxy/adapters/admin.py").read_text(encoding="utf-8")
    return sorted(set(re.findall(r'"(/[a-z][a-z/_-]*)"', source)))


def test_each_admin_route_is_in_the_manual() -> None:
    assert {"/metrics", "/healthz", "/readyz"} <= set(routes())
    assert [route for route in routes() if f"`{route}`" not in readme()] == []


@pytest.mark.parametrize("breakage", MUTATIONS, ids=lambda one: one["name"])
def test_a_deliberate_breakage_finds_the_line_that_it_breaks(breakage: dict[str, Any]) -> None:
    """Else nobody tries any more whether a test would notice."""
    assert (ROOT / breakage["file"]).read_text(encoding="utf-8").count(breakage["old"]) == 1


def test_an_extra_that_a_message_names_is_one() -> None:
    sources = [*ROOT.glob("proxy/**/*.py"), *ROOT.glob("semantic/**/*.py")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    named = set(re.findall(r"lacking\('(\w+)'\)|'hotprefix\[(\w+)\]'", text))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]

    assert {"kms", "calendars", "events", "plot"} <= {one or other for one, other in named}
    assert {one or other for one, other in named} <= set(extras)
