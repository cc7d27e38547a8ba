# The commands of a developer. The environment is made when it is needed, and renewed when its inputs have changed.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
RUN := $(VENV)/bin/python
PARALLEL := -n auto --maxprocesses 4 --dist loadfile
PYTEST := $(RUN) -m pytest -q --durations=15
# Each of a gate's processes imports the same files: without their bytecode each would compile them.
unexport PYTHONDONTWRITEBYTECODE

# The stamp carries a checksum of its inputs instead of trusting their times, which a checkout renews.
INPUTS := pyproject.toml constraints-cpu.txt \
          $(shell find cpu_platform -type f -not -name '*.pyc' -not -path '*.egg-info/*' | LC_ALL=C sort)
STAMP := $(VENV)/.installed-$(shell cat $(INPUTS) | sha256sum | cut -c 1-16)

# The light parts and what tests them: neither torch nor vLLM. Beside .venv, in a folder of its own.
LIGHT ?= .venv-light
LIGHT_STAMP := $(LIGHT)/.installed-$(shell cat pyproject.toml constraints-cpu.txt | sha256sum | cut -c 1-16)

.PHONY: help install install-light quickstart miniature test test-fast test-unit test-unit-light test-integration test-e2e test-slow lint format toy-models constraints clean

help:  ## show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

install: $(STAMP)  ## make or renew the environment in .venv (CPU; about 3 minutes)

$(STAMP):
	@cpu_platform/install.sh '$(VENV)' '$(PYTHON)'
	@rm -f '$(VENV)'/.installed-*
	@touch '$@'

install-light: $(LIGHT_STAMP)  ## make or renew .venv-light, without torch and vLLM: for the unit tests, evaluation, submission

# verl comes without what it depends on: composing a run reads its YAML files and imports none of its code.
$(LIGHT_STAMP):
	@'$(PYTHON)' -m venv '$(LIGHT)'
	@'$(LIGHT)/bin/python' -m pip install -q -c constraints-cpu.txt -e '.[launch,dev]'
	@'$(LIGHT)/bin/python' -m pip install -q --no-deps -c constraints-cpu.txt verl
	@rm -f '$(LIGHT)'/.installed-*
	@touch '$@'

quickstart: $(STAMP)  ## train the tiny models with the combined reward, end to end, on this CPU
	@$(RUN) -m trainer.main experiment=quickstart

miniature: $(STAMP)  ## BaseRL against PatternRL in the toy world, three seeds, and its report; about an hour
	@$(RUN) -m launch.local_cluster launch/miniature.sh

test: $(STAMP)  ## all tests: unit, then integration, then end to end
	@$(MAKE) --no-print-directory test-unit
	@$(MAKE) --no-print-directory test-integration
	@$(MAKE) --no-print-directory test-e2e

test-unit: $(STAMP)  ## pure logic, seconds
	@echo '== unit tests'
	@$(PYTEST) $(PARALLEL) -m 'not integration and not e2e'

# What a change of the pure parts is likely to break; composing configurations, pages and random properties take the minutes.
FAST := tests/responses tests/reward tests/runs tests/verifier tests/corpora tests/packaging tests/test_docs.py tests/test_layers.py \
        tests/judges/test_parse_labels.py tests/judges/test_parse_verdict.py tests/judges/test_prompts.py

test-fast:  ## the unit tests of the pure parts, under 20 seconds; VENV=.venv-light will do
	@$(RUN) -m pytest -q $(PARALLEL) -m 'not integration and not e2e' --ignore=tests/verifier/properties $(FAST)

test-unit-light: $(LIGHT_STAMP)  ## the unit tests in .venv-light
	@echo '== unit tests, light install'
	@'$(LIGHT)/bin/python' -m pytest -q $(PARALLEL) -m 'not integration and not e2e'

test-integration: $(STAMP)  ## with torch, verl, vLLM or child processes
	@echo '== integration tests'
	@OMP_NUM_THREADS=1 $(PYTEST) $(PARALLEL) -m 'integration and not e2e and not slow'

test-e2e: $(STAMP)  ## the whole stack, minutes
	@echo '== end-to-end tests'
	@OMP_NUM_THREADS=1 $(PYTEST) -m 'e2e and not slow'

test-slow: $(STAMP)  ## what `make test` leaves out: lost nodes, faulty networks, a whole sweep, an evaluation; half an hour
	@echo '== slow tests'
	@OMP_NUM_THREADS=1 $(PYTEST) -m slow

lint: $(STAMP)  ## ruff (rules, format) and mypy
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

format: $(STAMP)  ## let ruff format and sort
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

toy-models: $(STAMP)  ## train the three tiny models of assets/toy from scratch
	@$(RUN) -m corpora.toy.train

constraints: $(STAMP)  ## write constraints-cpu.txt anew from the environment
	@{ grep '^#' constraints-cpu.txt; $(RUN) -m pip freeze --exclude patternrl --exclude patternrl-cpu-platform \
	    | grep -v '^#' | sed 's/+cpu$$//'; } > constraints-cpu.new
	@mv constraints-cpu.new constraints-cpu.txt

clean:  ## remove the environment, caches and build folders; outputs/ stays
	@rm -rf '$(VENV)' '$(LIGHT)' .mypy_cache .ruff_cache .pytest_cache .hypothesis build ./*.egg-info cpu_platform/build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
