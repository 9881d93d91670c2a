# `make` lists the targets. Everything lives below this folder: .tools (uv), .venv (the workspace), .cache.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

BIN := .venv/bin
PYTEST := $(BIN)/pytest
# Files the checks look at; stubs are excluded by the tools' own settings.
SOURCES := client services tests tools

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: .venv/.ready ## install everything the other targets need, below this folder

.venv/.ready: uv.lock pyproject.toml client/pyproject.toml
	.tools/bin/uv sync --frozen --all-extras
	@touch $@

.PHONY: protos
protos: setup ## write the stubs of protos/ into client/paddleflow
	$(BIN)/buf format --write protos
	$(BIN)/python tools/generate_stubs.py

.PHONY: fmt
fmt: setup ## format everything
	$(BIN)/buf format --write protos
	$(BIN)/ruff check --quiet --fix $(SOURCES)
	$(BIN)/ruff format --quiet $(SOURCES)

.PHONY: lint
lint: setup ## style, layers, protos, generated files
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/ruff format --quiet --check $(SOURCES)
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format --diff --exit-code protos
	$(BIN)/python tools/generate_stubs.py --check

.PHONY: types
types: setup ## mypy --strict
	$(BIN)/mypy

.PHONY: test
test: setup ## the quick suite
	$(PYTEST) -n 2

.PHONY: check
check: lint types test ## what CI runs
