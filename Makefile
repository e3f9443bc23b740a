# Targets for work in a checkout; `make` lists them. .ci/setup installs; pyproject.toml configures the tools.

PYTHON ?= python3
PY := .venv/bin/python
BIN := .venv/bin
STAMP := .venv/.complete
TOOLS := .venv/.develop

# Only `make demo LOG=file` counts: a LOG in the environment may belong to another program.
DEMO_LOG := $(if $(filter command%,$(origin LOG)),$(LOG),var/demo.swf)

PYTEST_FLAGS ?= -n auto --maxprocesses 4 --dist worksteal
# If it is set, each worker and each process that a test starts compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
# Selects tests by mark. Tests that take minutes have separate targets.
TESTS ?= not thorough and not slow and not slurm and not sites

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup develop kernels demo test test-fresh test-thorough test-slow test-faults test-sites test-slurm test-security check bench bench-check bench-large same studies waits metrics-page schemas docs dashboards extras lock release clean libraries test-programs stale

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: libraries $(STAMP) kernels ## make .venv with fairaudit in it

develop: setup $(TOOLS) ## add to .venv the extras, and what tests, checks and measurements need

kernels: $(STAMP) ## compile the kernels that have changed
	@$(PY) .ci/build_kernels.py

demo: setup $(filter var/demo.swf,$(DEMO_LOG)) ## audit a synthetic log, or your own: make demo LOG=file
	@$(BIN)/fairaudit audit "$(DEMO_LOG)" --out var/demo-report

test: develop test-programs ## run the test suite, in a few minutes
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-few} $(PY) -m pytest -m "$(TESTS)" $(PYTEST_FLAGS)

test-thorough: extras test-programs ## sweeps, fault injection, long scenarios, real logs, wheels, many examples
	@.ci/daemons prometheus
	@$(PY) -m pytest -m "(thorough or hypothesis) and not slow and not slurm and not sites" $(PYTEST_FLAGS)

test-slow: develop test-programs ## tests that take minutes each
	@$(PY) -m pytest -m slow $(PYTEST_FLAGS)

test-faults: develop test-programs ## kills at any time, failing servers and commands, full disks, wrong clocks
	@$(PY) -m pytest -m faults $(PYTEST_FLAGS)

test-sites: develop ## simulate sites with known rules and victims, into docs/report
	@$(PY) -m pytest -m sites $(PYTEST_FLAGS)

test-slurm: develop ## start a Slurm cluster and compare with it (as root; installs Slurm)
	@.ci/daemons slurm
	@$(PY) -m pytest -m "slurm and not slow" tests/slurm

test-security: develop test-programs ## attacks: SQL, crafted databases and backups, neighbours, names
	@$(PY) -m pytest $(PYTEST_FLAGS) tests/security tests/test_security.py

test-fresh: ## set-up, demo and tests in a new Debian (as root)
	@.ci/test-fresh

check: $(TOOLS) ## check style, types and imports
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@$(BIN)/lint-imports

bench: develop ## measure each stage, into bench/RESULTS.md: make bench SIZES=10000,1000000 ONLY=metrics
	@$(PY) -m bench.run $(if $(SIZES),--sizes $(SIZES)) $(if $(ONLY),--only $(ONLY))

bench-check: develop ## fail if a stage is slower than in bench/RESULTS.json
	@$(PY) -m bench.run --check $(if $(SIZES),--sizes $(SIZES)) $(if $(ONLY),--only $(ONLY))

bench-large: develop ## measure whole audits up to 1 M attempts, into docs/scale.md
	@$(PY) -m bench.scale.large_audit

same: develop ## compare the results of five audits with the committed ones: make same ONLY=demo, WRITE=1
	@$(PY) -m bench.same $(if $(ONLY),--only $(ONLY)) $(if $(AGAINST),--against $(AGAINST)) $(if $(WRITE),--write)

studies: develop ## run the papers' studies on the logs in FAIRAUDIT_REAL_LOGS, into docs/studies
	@$(PY) -m bench.pages.studies $(STUDIES)

waits: develop ## causes of waiting in the logs in FAIRAUDIT_REAL_LOGS, into docs/studies
	@$(PY) -m bench.pages.waits $(WAITS)

metrics-page: develop ## update the tables of docs/metrics.md and docs/simulation.md, and the man page
	@$(PY) -m bench.pages.metrics_page
	@$(PY) -m bench.pages.policies_page
	@$(PY) -m bench.pages.man_page

docs: develop ## make the documentation as a site that works offline, into var/site/html
	@$(PY) -m pip --quiet install --no-compile --require-hashes -r .ci/locks/docs.lock
	@$(PY) -m bench.pages.site

dashboards: extras ## update docs/grafana
	@$(PY) -m bench.pages.dashboards

extras: develop ## install what tests of the site, the dashboards and the notebooks need
	@$(PY) -m pip --quiet install --no-compile --require-hashes $(patsubst %,-r %,$(wildcard .ci/locks/*.lock))

release: develop ## make dist/: sdist, wheels, image; and try them (as root; some 20 minutes)
	@$(PY) -m pip --quiet install --require-hashes -r requirements-release.lock
	@.ci/release $(RELEASE)

schemas: develop ## update docs/schema from the dataclasses of answers
	@$(PY) -m bench.pages.schemas

lock: develop ## pin the dependencies of pyproject.toml; upgrade all: make lock LOCK_FLAGS=--upgrade
	@.ci/lock $(LOCK_FLAGS)

clean: ## remove what these targets created
	rm -rf .venv dist var/demo* var/checked audit/kernels/built.json .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find audit/kernels -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment contains its own path, so it is recreated in a checkout that was moved.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): stale
endif

$(STAMP): requirements-build.lock pyproject.toml .ci/setup | libraries
	@.ci/setup "$(PYTHON)"

$(TOOLS): requirements-dev.lock $(STAMP)
	@echo "Installing what development needs into .venv" >&2
	@$(PY) -m pip --quiet --quiet --disable-pip-version-check --no-input install --no-compile --require-hashes -r requirements-dev.lock
	@touch $@

# Pango for the PDF, and a font for its charts.
libraries:
	@.ci/system-packages libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core

# The tests inspect pages and create certificates with these.
test-programs:
	@.ci/system-packages chromium firefox-esr openssl poppler-utils

var/demo.swf: | setup
	@mkdir -p var
	@$(PY) -m bench.logs.demo_log $@
