.PHONY: install run test bench mutants load lint clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
# The stamps make a second `make install` cost nothing; what is installed follows these files.
SOURCES := pyproject.toml constraints.txt
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
LOADABLE := $(VENV)/.loadable

install: $(INSTALLED)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): $(SOURCES) | $(BIN)/python
	$(PIP) --editable .
	touch $@

$(TESTABLE): $(SOURCES) | $(BIN)/python
	$(PIP) --editable '.[test]'
	touch $@ $(INSTALLED)

$(LOADABLE): $(SOURCES) | $(BIN)/python
	$(PIP) --editable '.[load]'
	touch $@ $(INSTALLED)

# With no upstream configured this serves in front of the demo upstream.
run: install
	$(BIN)/hotprefix serve

# Cheap to dear, so that the first failure comes early.
test: $(TESTABLE) lint
	$(BIN)/mypy
	$(BIN)/pytest -q tests/core
	$(BIN)/pytest -q --numprocesses 2 --dist loadfile --ignore=tests/core

lint: $(TESTABLE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

bench: $(TESTABLE)
	$(BIN)/python -m tests.bench.hits

# Breaks the code on purpose, one line at a time, and sees whether a test notices.
mutants: $(TESTABLE)
	$(BIN)/python -m tests.bench.mutants

# Against `make run` in another terminal; `make load LOAD="-u 200 -r 50 -t 5m"` for more.
LOAD ?= -u 50 -r 10 -t 60s
load: $(LOADABLE)
	$(BIN)/locust -f tests/load/locustfile.py --headless $(LOAD)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf build dist *.egg-info
	find proxy tests -name __pycache__ -prune -exec rm -rf {} +
