# `make` lists the targets. Everything they make lies below this folder: .tools, .venv, .cache, .demo.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

BIN := .venv/bin
SOURCES := backends client demo examples fuse services tests tools
# Processes that run tests at once. One more than a small machine has cores: half of the time a test waits for something.
WORKERS ?= 3
# More arguments for pytest, for example ARGS='-k quota -x'.
ARGS ?=
# Not empty: `make protos` accepts a change that breaks clients.
BREAK ?=
PYTEST = $(BIN)/pytest --numprocesses=$(WORKERS) --dist=loadgroup --durations=10 --durations-min=2

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install all that the other targets need, below this folder
	@tools/setup.sh

.PHONY: demo
demo: setup ## start everything, run a pipeline that is mended and goes on, run jobs, let four teams compete for a cluster
	@demo/run.sh

.PHONY: up
up: setup ## start everything on this machine
	@$(BIN)/pf up

.PHONY: down
down: setup ## stop what `make up` started
	@$(BIN)/pf down

.PHONY: secrets
secrets: setup ## make the keys and passwords for docker-compose.yml, in ./secrets
	@$(BIN)/python tools/new_secrets.py secrets

.PHONY: fmt
fmt: setup ## format everything
	@$(BIN)/buf format --write protos
	@$(BIN)/ruff check --quiet --fix-only $(SOURCES)
	@$(BIN)/ruff format --quiet $(SOURCES)

.PHONY: protos
protos: setup ## after a change in protos/ or paddleflow/aio: refuse what breaks clients (BREAK=yes: accept it), generate
	@$(BIN)/buf format --write protos
	@$(BIN)/python tools/contract.py accept $(if $(BREAK),--may-break)
	@$(BIN)/python tools/generate_stubs.py
	@$(BIN)/python tools/generate_sync.py
	@$(BIN)/python tools/generate_docs.py

.PHONY: docs
docs: setup ## write docs/reference
	@$(BIN)/python tools/generate_docs.py

.PHONY: lint
lint: setup ## style, layers, protos
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/ruff format --quiet --check $(SOURCES)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/buf lint
	@$(BIN)/buf format --diff --exit-code protos
	@$(BIN)/python tools/contract.py check

.PHONY: types
types: setup ## mypy --strict
	@$(BIN)/mypy

.PHONY: test
test: setup ## every test but the long ones; says where the time went
	@$(PYTEST) -m "not crash and not soak and not frameworks and not exports and not kube" $(ARGS)

.PHONY: e2e
e2e: setup ## only the tests that start the whole stack
	@$(PYTEST) -m "not crash" tests/e2e $(ARGS)

.PHONY: crash
crash: setup ## minutes of kill -9 and outages under load
	@$(PYTEST) -m crash --numprocesses=0 $(ARGS)

.PHONY: soak-fuse
soak-fuse: setup ## an hour and more of file system suites, real programs, kills and faults on mounts
	@tests/soak/install.sh
	@$(PYTEST) -m soak --numprocesses=0 --capture=sys tests/soak $(ARGS)

.PHONY: test-frameworks
test-frameworks: setup ## real PyTorch, MPI, Paddle, TensorFlow, MXNet, Ray and Spark; installs 10 GB below .cache
	@tests/frameworks/install.sh
	@$(PYTEST) -m frameworks --numprocesses=0 tests/frameworks $(ARGS)

.PHONY: test-exports
test-exports: setup ## Argo and Airflow themselves check what is exported; installs them below .cache
	@tests/exports/install.sh
	@$(PYTEST) -m exports --numprocesses=0 tests/exports $(ARGS)

.PHONY: kube-up
kube-up: setup ## start a Kubernetes of one node on this machine; the first time builds it in ten minutes or more, as root
	@PYTHONPATH=tests $(BIN)/python -m kube up

.PHONY: kube-down
kube-down: setup ## stop what `make kube-up` started
	@PYTHONPATH=tests $(BIN)/python -m kube down

.PHONY: kube-test
kube-test: setup ## what needs a real Kubernetes, in one of its own; builds it first, as root
	@PYTHONPATH=tests $(BIN)/python -m kube build
	@$(PYTEST) -m kube --numprocesses=0 tests/kube $(ARGS)

.PHONY: bench-kit
bench-kit: setup ## what the boundary, the event bus and a watch cost on this machine
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_kit $(ARGS)

.PHONY: bench-queue
bench-queue: setup ## how fast admission is on this machine, against the load generators of Kueue
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_queue $(ARGS)

.PHONY: bench-job
bench-job: setup ## how fast jobs run on this machine, beside bare processes
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_job $(ARGS)

.PHONY: bench-elastic
bench-elastic: setup ## how soon elastic jobs begin and what they leave idle, in virtual time, beside what was published of EDL
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_elastic $(ARGS)

.PHONY: bench-shards
bench-shards: setup ## how fast trainers get their data on this machine
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_shards $(ARGS)

.PHONY: bench-fuse
bench-fuse: setup ## how fast mounted filesystems are on this machine, beside the local disk and other products
	@tests/bench/engines/mounts.sh
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_fuse $(ARGS)

.PHONY: bench-fuse-kernel
bench-fuse-kernel: setup ## how fast the kernel is answered on this machine, beside the local disk
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_fuse_kernel $(ARGS)

.PHONY: bench-fuse-pages
bench-fuse-pages: setup ## what the page cache and the fetcher of a mount cost on this machine
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_fuse_pages $(ARGS)

.PHONY: bench-fsspec
bench-fsspec: setup ## how fast Python programs read an object store without a mount, beside s3fs
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_fsspec $(ARGS)

.PHONY: bench-csi
bench-csi: setup ## how fast volumes appear in pods on this machine and in a cluster, and what the driver keeps of them, as root
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_csi $(ARGS)

.PHONY: bench-pipeline
bench-pipeline: setup ## how fast pipelines run on this machine, beside other engines
	@PYTHONPATH=tests $(BIN)/python -m bench.bench_pipeline $(ARGS)

.PHONY: check
check: lint types test ## what CI runs first

.PHONY: clean
clean: ## remove what the targets made
	@rm -rf .venv .tools .cache .demo examples/scratch .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
