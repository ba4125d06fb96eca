# The one door: each target makes the environment it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

.PHONY: help venv demo test test-all lint bench clean

help:
	@echo "make venv      create $(VENV) with every pinned package"
	@echo "make demo      synthetic cohort, preprocessed, queried and trained on for a few steps"
	@echo "make test      linters, types, import rules and the fast tests"
	@echo "make test-all  the same with the slow tests"
	@echo "make bench     measure the figures of the README; writes bench.json"
	@echo "make clean     remove the demo's data and store"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: venv
	$(BIN)/deaps synth --preset demo
	$(BIN)/deaps preprocess --preset demo
	$(BIN)/deaps query --preset demo "FROM quality_by_dataset"
	$(BIN)/deaps train --preset demo --method deaps --method byol --method pclr --method clocs --method mixing-up --method tf-c
	$(BIN)/deaps query --preset demo "SELECT run, method, iterations, finished_at FROM runs"

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-all: lint
	$(BIN)/python -m pytest -n $(WORKERS)

bench: venv
	$(BIN)/python -m tests.bench

clean:
	rm -rf demo-data demo-store bench.json
