.DEFAULT_GOAL := help
SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
MAKEFLAGS     += --no-print-directory
.DELETE_ON_ERROR:

VENV    := .venv
PY      := $(VENV)/bin/python
BUNDLE  ?= support-triage
ENGINE  ?= embedded
SIGNED   = $(if $(SIGNING_KEY),--signing-key '$(SIGNING_KEY)')
BUNDLES := $(wildcard bundles/*)
# The one place where the OPA version stands.
OPA     := .tools/opa
# Tests run without network where the kernel allows; loopback stays.
OFFLINE := $(shell unshare -rn true 2>/dev/null && echo unshare -rn)

# The suites run in two processes: these, and all others.
HALF    := tests/release tests/cli tests/pdp tests/lab tests/integrations tests/longtask

.PHONY: help setup opa services demo test check lint types rego shape compile bundle release diff mutate serve bench \
  soak clean format

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: pyproject.toml
	python3 -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[embedded,dev]'
	@touch $@

setup: $(VENV)/.dev ## make .venv with everything a developer needs

opa: $(VENV)/.installed ## find, download or build the pinned OPA, saying which way worked
	@$(PY) -m gate.opa --ensure

$(OPA): gate/opa.py $(VENV)/.installed
	@$(PY) -m gate.opa --ensure
	@mkdir -p .tools && if [ ! -e $(OPA) ]; then ln -s "$$($(PY) -m gate.opa | head -n 1)" $(OPA); fi
	@touch -c -h $(OPA)

services: ## as root on Debian: install PostgreSQL and Docker when they are missing (the tests start their own)
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null; then \
	  echo "PostgreSQL is there"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; \
	else echo "install PostgreSQL, or set GATE_TEST_POSTGRES_URL" >&2; fi
	@if command -v dockerd >/dev/null || [ -n "$${DOCKER_HOST:-}" ] || [ -S /var/run/docker.sock ]; then \
	  echo "Docker is there"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io; \
	else echo "install Docker, or set DOCKER_HOST" >&2; fi

demo: $(VENV)/.installed ## play the support-triage story (ENGINE=opa for a real sidecar)
	@if [ "$(ENGINE)" = opa ]; then $(PY) -m gate.opa --ensure >/dev/null; fi
	@$(VENV)/bin/gate demo --bundle bundles/$(BUNDLE) --engine $(ENGINE)

check: $(VENV)/.dev $(OPA) ## everything static: format, lint, types, Rego, coverage, compiled Rego in step
	@$(MAKE) --jobs 2 --output-sync=target rego lint types compile

lint: $(VENV)/.dev
	$(VENV)/bin/ruff format --check gate tests
	$(VENV)/bin/ruff check gate tests

format: $(VENV)/.dev $(OPA) ## format Python and Rego
	$(VENV)/bin/ruff format gate tests
	$(VENV)/bin/ruff check --fix --quiet gate tests || true
	$(OPA) fmt --write policies

types: $(VENV)/.dev
	$(VENV)/bin/mypy

dist/opa-schemas/input.json: schemas/input.schema.json $(wildcard schemas/evidence/*.schema.json) $(VENV)/.installed
	@mkdir -p $(@D)
	@$(PY) -m gate.documents.opa_schema > $@

rego: $(VENV)/.dev $(OPA) dist/opa-schemas/input.json ## Rego: format, strict check with schemas, shape, tests, 100 % coverage
	@test -z "$$($(OPA) fmt --list policies bundles)" || { $(OPA) fmt --diff policies bundles; exit 1; }
	$(OPA) check --strict --schema dist/opa-schemas policies $(BUNDLES:%=%/rego)
	GATE_OPA_BIN=$(OPA) $(PY) -m gate.compiler.shape policies bundles
	@# Measuring coverage hides which test failed, so they are run again for that alone.
	@$(OFFLINE) $(OPA) test --schema dist/opa-schemas --timeout 60s --threshold 100 policies > dist/rego-coverage.json || \
	  { tail -n 3 dist/rego-coverage.json; $(OFFLINE) $(OPA) test --schema dist/opa-schemas --timeout 60s policies; exit 1; }
	@echo "Rego tests pass and cover every line"

compile: $(VENV)/.installed ## fail when a checked-in rego/ is not what its YAML compiles to
	@for bundle in $(BUNDLES); do $(VENV)/bin/gate compile --check $$bundle; done

bundle: $(OPA) ## build bundles/$(BUNDLE) into dist/ (SIGNING_KEY=FILE signs it)
	@$(VENV)/bin/gate build bundles/$(BUNDLE) --out dist $(SIGNED)

release: $(OPA) ## release bundles/$(BUNDLE) at VERSION into its ledger (CHANGE_ID=, APPROVER=, SIGNING_KEY=)
	@$(VENV)/bin/gate release bundles/$(BUNDLE) --out dist $(SIGNED) $(if $(VERSION),--version '$(VERSION)') \
	  $(if $(CHANGE_ID),--change-id '$(CHANGE_ID)') $(if $(APPROVER),--approver '$(APPROVER)')

diff: $(OPA) ## what changes in the decisions of bundles/$(BUNDLE) since OLD (default: the last commit)
	@$(VENV)/bin/gate diff "$(or $(OLD),HEAD:bundles/$(BUNDLE))" bundles/$(BUNDLE)

mutate: $(OPA) ## which small changes of bundles/$(BUNDLE) its golden cases do not notice
	@$(VENV)/bin/gate mutate bundles/$(BUNDLE)

serve: $(OPA) ## build bundles/$(BUNDLE) and serve it on a local OPA sidecar
	@$(VENV)/bin/gate build bundles/$(BUNDLE) --out dist --output json > dist/last-build.json
	@$(VENV)/bin/gate serve "$$($(PY) -c 'import json; print(json.load(open("dist/last-build.json"))["path"])')"

test: check ## check, then every suite: unit, Rego, golden cases, real OPA, PostgreSQL, Docker
	@for bundle in $(BUNDLES); do $(VENV)/bin/gate test $$bundle --engine opa; done
	@mkdir -p dist
	@$(PY) -m pytest $(HALF:%=--ignore=%) -p no:cacheprovider > dist/tests.log 2>&1 & other=$$!; \
	  here=0; $(PY) -m pytest $(HALF) || here=$$?; \
	  there=0; wait $$other || there=$$?; cat dist/tests.log; [ "$$here" = 0 ] && [ "$$there" = 0 ]

bench: $(OPA) $(VENV)/.installed ## ratios against raw OPA and growth with the number of capabilities
	@$(VENV)/bin/gate bench
	@$(PY) -m gate.lab.bench_records

soak: $(OPA) $(VENV)/.installed ## claim, kill and break under load on both databases, and count what was lost
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[embedded,postgres]'
	@$(VENV)/bin/gate lab soak

clean: ## remove what the targets made
	rm -rf $(VENV) .tools dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
