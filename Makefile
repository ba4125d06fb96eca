# The one door: each target makes the environment it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

.PHONY: help venv demo deployment docs pictures test test-all lint bench torture clean

help:
	@echo "make venv      create $(VENV) with every pinned package"
	@echo "make demo      synthetic cohort, from recordings to the report, then again with nothing to do"
	@echo "make deployment  after make demo: deaps serve, and prefect deployment run in a second shell"
	@echo "make test      linters, types, import rules and the fast tests"
	@echo "make test-all  the same with the slow tests"
	@echo "make bench     measure the figures of docs/performance.md; writes bench.json"
	@echo "make torture   attack the store with every fault of docs/reliability.md (ONLY=row,row for some); up to 3 hours"
	@echo "make docs      build the site into site/, without network, warnings as errors"
	@echo "make pictures  draw the pictures of the README from the demo (needs chromium)"
	@echo "make clean     remove the demo's data and store"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: venv
	$(BIN)/deaps synth --preset demo
	$(BIN)/deaps run --preset demo
	$(BIN)/deaps query --preset demo "FROM quality_by_dataset"
	$(BIN)/deaps query --preset demo "SELECT method, benchmark, value, low, high FROM results WHERE metric = 'accuracy'"
	$(BIN)/deaps run --preset demo

deployment: venv
	$(BIN)/python -m tests.second_shell

docs: venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html; its search needs a server: python3 -m http.server --bind 127.0.0.1 --directory site"

pictures: venv
	$(BIN)/python -m docs.pictures.draw demo-store

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"
	$(BIN)/python -m tests.torture --share 60

test-all: lint
	$(BIN)/python -m pytest -n $(WORKERS)

bench: venv
	$(BIN)/python -m tests.bench

torture: venv
	$(BIN)/python -m tests.torture --only "$(ONLY)"

clean:
	rm -rf demo-data demo-store bench.json site
