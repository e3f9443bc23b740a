# What one does in a checkout; `make` alone lists it. Set-up is in .ci/setup, the tools' settings in pyproject.toml.

PYTHON ?= python3
PY := .venv/bin/python
BIN := .venv/bin
STAMP := .venv/.complete

# Only `make demo LOG=file` counts: a LOG in the environment is somebody else's.
DEMO_LOG := $(if $(filter command%,$(origin LOG)),$(LOG),var/demo.swf)

PYTEST_FLAGS ?= -n auto --maxprocesses 4 --dist worksteal
# Where it is set, each worker and each process that a test starts compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
# Which of them, by their marks; what takes minutes is left to targets of its own.
TESTS ?= not thorough and not slow and not slurm and not sites

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup kernels demo test test-fresh test-thorough test-slow test-sites test-slurm test-security check bench bench-check bench-large same studies waits metrics-page lock clean libraries test-programs stale

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: libraries $(STAMP) kernels ## make .venv with fairaudit in it

kernels: $(STAMP) ## compile the kernels that have changed
	@$(PY) .ci/build_kernels.py

demo: setup $(filter var/demo.swf,$(DEMO_LOG)) ## audit a made-up log, or one's own: make demo LOG=file
	@$(BIN)/fairaudit audit "$(DEMO_LOG)" --out var/demo-report

test: setup test-programs ## what tells within minutes whether a change holds
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-few} $(PY) -m pytest -m "$(TESTS)" $(PYTEST_FLAGS)

test-thorough: setup test-programs ## sweeps, fault injection, further walks, real logs, wheels
	@$(PY) -m pytest -m "thorough and not slow and not slurm and not sites" $(PYTEST_FLAGS)

test-slow: setup test-programs ## the tests that take minutes
	@$(PY) -m pytest -m slow $(PYTEST_FLAGS)

test-sites: setup ## many made sites: planted rules and starved users, into docs/report
	@$(PY) -m pytest -m sites $(PYTEST_FLAGS)

test-slurm: setup ## the test against a live Slurm, which it starts (as root; installs Slurm)
	@.ci/slurm-packages
	@$(PY) -m pytest -m slurm tests/slurm

test-security: setup test-programs ## what attackers try: SQL, crafted databases and backups, neighbours, names
	@$(PY) -m pytest $(PYTEST_FLAGS) tests/security tests/test_security.py

test-fresh: ## set-up, demo and tests in a Debian made for it (as root)
	@.ci/test-fresh

check: $(STAMP) ## style, types and which module may import which
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@$(BIN)/lint-imports

bench: setup ## measure how fast each stage is, into bench/RESULTS.md: make bench SIZES=10000,1000000 ONLY=metrics
	@$(PY) -m bench.run $(if $(SIZES),--sizes $(SIZES)) $(if $(ONLY),--only $(ONLY))

bench-check: setup ## fail where a stage got slower than bench/RESULTS.json says
	@$(PY) -m bench.run --check $(if $(SIZES),--sizes $(SIZES)) $(if $(ONLY),--only $(ONLY))

bench-large: setup ## measure how whole audits grow, up to 3 M attempts, into docs/scale.md
	@$(PY) -m bench.scale.large_audit

same: setup ## compare the results of five audits with the committed ones: make same ONLY=demo, WRITE=1
	@$(PY) -m bench.same $(if $(ONLY),--only $(ONLY)) $(if $(AGAINST),--against $(AGAINST)) $(if $(WRITE),--write)

studies: setup ## the papers' studies on the real logs of FAIRAUDIT_REAL_LOGS, into docs/studies
	@$(PY) -m bench.pages.studies $(STUDIES)

waits: setup ## why attempts of the real logs waited, into docs/studies
	@$(PY) -m bench.pages.waits $(WAITS)

metrics-page: setup ## write the tables of docs/metrics.md and docs/simulation.md anew from the registries
	@$(PY) -m bench.pages.metrics_page
	@$(PY) -m bench.pages.policies_page

lock: setup ## pin what pyproject.toml asks for; newest of all: make lock LOCK_FLAGS=--upgrade
	@.ci/lock $(LOCK_FLAGS)

clean: ## remove what these targets made
	rm -rf .venv dist var/demo* var/checked audit/kernels/built.json .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find audit/kernels -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment knows its place by heart: in a checkout that was moved it is made again.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): stale
endif

$(STAMP): requirements-dev.lock pyproject.toml .ci/setup | libraries
	@.ci/setup "$(PYTHON)"

# Pango for the PDF, and a font for its charts.
libraries:
	@.ci/system-packages libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core

# What the tests look at pages with, and make certificates.
test-programs:
	@.ci/system-packages chromium openssl poppler-utils

var/demo.swf: | setup
	@mkdir -p var
	@$(PY) -m bench.logs.demo_log $@
