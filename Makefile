PYTHON ?= python3
PIP := -m pip --disable-pip-version-check --quiet
BIN := .venv/bin
READY := .venv/.ready
BENCH := bench/.venv
BENCH_READY := $(BENCH)/.ready
ALLOCATION := bench/.venv-allocation
ALLOCATION_READY := $(ALLOCATION)/.ready
AUDITING := bench/.venv-auditing
AUDITING_READY := $(AUDITING)/.ready
LEARNING := bench/.venv-learning
LEARNING_READY := $(LEARNING)/.ready
RELEASES := bench/.venv-releases
RELEASES_READY := $(RELEASES)/.ready
RUN := --noise 1.0 --rate 0.01 --steps 10000 --delta 1e-5

.DEFAULT_GOAL := help
.PHONY: help setup demo test pythons audit mutants check bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with hush and the pinned tools

# torch goes first and alone: pinned exactly, or the resolver may fetch gigabytes of another build.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python $(PIP) install "$$(grep '^torch==' constraints.txt)" --constraint constraints.txt
	$(BIN)/python $(PIP) install --constraint constraints.txt --editable '.[dev,all]'
	@touch $@

demo: setup ## account for, calibrate and explain one training run
	$(BIN)/hush epsilon $(RUN)
	$(BIN)/hush calibrate --epsilon 2 --delta 1e-5 --rate 0.01 --steps 10000
	$(BIN)/hush explain $(RUN)

test: setup ## run the tests and doctests on every core
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto

pythons: ## the tests that need no torch, under every Python from 3.11 up that is found
	OPENBLAS_NUM_THREADS=1 $(PYTHON) tests/pythons.py

audit: setup ## the slow tier: every mechanism and release audited, all mutants with what caught each
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto -m slow
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants

mutants: setup ## known privacy bugs, and what catches each
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants

check: setup ## lint, formatting, types and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(BENCH_READY) $(ALLOCATION_READY) $(AUDITING_READY) $(LEARNING_READY) $(RELEASES_READY) ## compare with other accountants, into bench/results
	$(BENCH)/bin/python bench/run.py
	$(BENCH)/bin/python bench/renyi.py
	$(ALLOCATION)/bin/python bench/allocation.py
	$(AUDITING)/bin/python bench/auditing.py
	$(LEARNING)/bin/python bench/learning.py
	$(RELEASES)/bin/python bench/noise.py
	$(RELEASES)/bin/python bench/releases.py
	$(RELEASES)/bin/python bench/estimators.py $(BENCH)/bin/python

# Here too torch goes first.
$(BENCH_READY): pyproject.toml bench/requirements.txt
	$(PYTHON) -m venv --clear $(BENCH)
	$(BENCH)/bin/python $(PIP) install "$$(grep '^torch==' bench/requirements.txt)"
	$(BENCH)/bin/python $(PIP) install --requirement bench/requirements.txt
	$(BENCH)/bin/python $(PIP) install --editable .
	@touch $@

# random-allocation wants an older numpy than the other accountants, so it has an environment of its own.
$(ALLOCATION_READY): pyproject.toml bench/requirements-allocation.txt
	$(PYTHON) -m venv --clear $(ALLOCATION)
	$(ALLOCATION)/bin/python $(PIP) install --requirement bench/requirements-allocation.txt
	$(ALLOCATION)/bin/python $(PIP) install --editable .
	@touch $@

# opacus takes any torch, so torch goes first, pinned.
$(LEARNING_READY): pyproject.toml bench/requirements-learning.txt
	$(PYTHON) -m venv --clear $(LEARNING)
	$(LEARNING)/bin/python $(PIP) install "$$(grep '^torch==' bench/requirements-learning.txt)"
	$(LEARNING)/bin/python $(PIP) install --requirement bench/requirements-learning.txt
	$(LEARNING)/bin/python $(PIP) install --editable .
	@touch $@

# diffprivlib gets the scikit-learn of its time.
$(RELEASES_READY): pyproject.toml bench/requirements-releases.txt
	$(PYTHON) -m venv --clear $(RELEASES)
	$(RELEASES)/bin/python $(PIP) install --requirement bench/requirements-releases.txt
	$(RELEASES)/bin/python $(PIP) install --editable .
	@touch $@

# jax-privacy brings jax with it.
$(AUDITING_READY): pyproject.toml bench/requirements-auditing.txt
	$(PYTHON) -m venv --clear $(AUDITING)
	$(AUDITING)/bin/python $(PIP) install --requirement bench/requirements-auditing.txt
	$(AUDITING)/bin/python $(PIP) install --editable .
	@touch $@

clean: ## remove the environments and every cache
	rm -rf .venv .venv-* $(BENCH) $(ALLOCATION) $(AUDITING) $(LEARNING) $(RELEASES) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
