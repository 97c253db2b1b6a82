PYTHON ?= python3
PIP := -m pip --disable-pip-version-check --quiet
BIN := .venv/bin
READY := .venv/.ready
CORE := .venv/.core
INTEROP := .venv-interop
BENCH := bench/.venv
ALLOCATION := bench/.venv-allocation
AUDITING := bench/.venv-auditing
LEARNING := bench/.venv-learning
RELEASES := bench/.venv-releases
AXE := .browser
TABLES := bench/.venv-tables
TUMULT := bench/.venv-tumult
RUN := --noise 1.0 --rate 0.01 --steps 10000 --delta 1e-5

.DEFAULT_GOAL := help
.PHONY: help setup demo test pythons interop browser audit faults mutants check bench docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with hush and the pinned tools

# hush with what it cannot do without: enough for the demo, in half a minute.
$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python $(PIP) install --constraint constraints.txt --editable .
	@touch $@

# torch goes first and alone: pinned exactly, or the resolver may fetch gigabytes of another build.
$(READY): $(CORE)
	$(BIN)/python $(PIP) install "$$(grep '^torch==' constraints.txt)" --constraint constraints.txt
	$(BIN)/python $(PIP) install --constraint constraints.txt --editable '.[dev,all,models]'
	@touch $@

demo: $(CORE) ## account for, calibrate and explain one training run
	$(BIN)/hush epsilon $(RUN)
	$(BIN)/hush calibrate --epsilon 2 --delta 1e-5 --rate 0.01 --steps 10000
	$(BIN)/hush explain $(RUN)

test: setup ## run the tests and doctests on every core
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadgroup

pythons: ## the tests that need no torch, under every Python from 3.11 up that is found
	OPENBLAS_NUM_THREADS=1 $(PYTHON) tests/pythons.py

interop: $(INTEROP)/.ready ## the bridges against the real Opacus and dp_accounting, in an environment of their own
	OPENBLAS_NUM_THREADS=1 $(INTEROP)/bin/python -m pytest -q tests/interop src/hush/interop

# A browser or a file that cannot be had makes the tests say so: skipped by name, or failed where CI is set.
browser: setup docs ## the page in a real Chromium: stories from opening to exported code, attacks, accessibility
	-command -v chromium > /dev/null || { apt-get update -q && apt-get install -y -q chromium; }
	-$(BIN)/python $(PIP) install --constraint constraints.txt --editable '.[browser]'
	-test -f $(AXE)/package/axe.min.js || { mkdir -p $(AXE) && cd $(AXE) && npm pack --silent axe-core@4.14.0 && tar -xzf axe-core-4.14.0.tgz; }
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m browser tests/browser

audit: setup ## the slow tier: every mechanism and release audited, all mutants with what caught each
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto -m slow
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants

faults: setup ## the budget book under kill -9: 10,000 spends from 50 processes on SQLite and on PostgreSQL, and a million entries
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m slow tests/ledger

mutants: setup ## known privacy bugs, and what catches each
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants

check: setup ## lint, formatting, types and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: .venv-docs/.ready ## build the site of the documentation, offline and strictly, into site/
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict --quiet --site-dir site

.venv-docs/.ready: docs/requirements.txt
	$(PYTHON) -m venv --clear .venv-docs
	.venv-docs/bin/python $(PIP) install --requirement docs/requirements.txt
	@touch $@

bench: setup $(addsuffix /.ready,$(BENCH) $(ALLOCATION) $(AUDITING) $(LEARNING) $(RELEASES) $(TABLES) $(TUMULT)) ## compare with other accountants, into bench/results
	$(BENCH)/bin/python bench/run.py
	$(BENCH)/bin/python bench/random_trainings.py
	$(BENCH)/bin/python bench/renyi.py
	$(BENCH)/bin/python bench/selection.py
	$(ALLOCATION)/bin/python bench/allocation.py
	$(AUDITING)/bin/python bench/auditing.py
	$(AUDITING)/bin/python bench/correlated_noise.py
	$(BIN)/python -m bench.correlated_training
	$(LEARNING)/bin/python bench/learning.py
	$(BIN)/python bench/layers.py
	$(BIN)/python bench/distributed.py
	$(LEARNING)/bin/python bench/learning_accuracy.py
	$(BIN)/python bench/ledger.py
	$(RELEASES)/bin/python bench/noise.py
	$(RELEASES)/bin/python bench/releases.py
	$(RELEASES)/bin/python bench/estimators.py $(BENCH)/bin/python
	$(BIN)/python bench/engines.py
	$(BIN)/python bench/grouped.py $(TABLES)/bin/python $(TUMULT)/bin/python

# $(call environment,DIRECTORY,REQUIREMENTS): with hush; torch goes first here too, where it is pinned.
define environment
$(1)/.ready: pyproject.toml $(2)
	$(PYTHON) -m venv --clear $(1)
	torch="$$$$(grep '^torch==' $(2))" && $(1)/bin/python $(PIP) install "$$$$torch" || test -z "$$$$torch"
	$(1)/bin/python $(PIP) install --requirement $(2)
	$(1)/bin/python $(PIP) install --editable .
	@touch $$@
endef

$(eval $(call environment,$(INTEROP),tests/interop/requirements.txt))
$(eval $(call environment,$(BENCH),bench/requirements.txt))
# random-allocation wants an older numpy than the other accountants, so it has an environment of its own.
$(eval $(call environment,$(ALLOCATION),bench/requirements-allocation.txt))
# opacus takes any torch, so torch is pinned.
$(eval $(call environment,$(LEARNING),bench/requirements-learning.txt))
# diffprivlib gets the scikit-learn of its time.
$(eval $(call environment,$(RELEASES),bench/requirements-releases.txt))
# jax-privacy brings jax with it.
$(eval $(call environment,$(AUDITING),bench/requirements-auditing.txt))

# $(call alone,DIRECTORY,REQUIREMENTS): without hush, for libraries whose packages are older than hush's.
define alone
$(1)/.ready: $(2)
	$(PYTHON) -m venv --clear $(1)
	$(1)/bin/python $(PIP) install --requirement $(2)
	@touch $$@
endef

# OpenDP wants an older Polars than hush has.
$(eval $(call alone,$(TABLES),bench/requirements-tables.txt))
# Tumult wants numpy 1, pandas 1.5 and Spark 3.5.
$(eval $(call alone,$(TUMULT),bench/requirements-tumult.txt))

clean: ## remove the environments and every cache
	rm -rf .venv .venv-* $(BENCH) $(ALLOCATION) $(AUDITING) $(LEARNING) $(RELEASES) $(TABLES) $(TUMULT) $(AXE) dist build site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
