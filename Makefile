# Every target sets up what it needs in .venv; after the first time no network is used.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test ui bench lint lock wheel clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-6s %s\n", $$1, $$2}'

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "notarius_assets needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## run the example campaign and show what was found
	@$(BIN)/python -m notarius_assets.commands.demo

test: $(READY) ## run the tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

ui: $(READY) ## open the example campaign in the Dagster UI
	@$(BIN)/notarius ui --pipeline docs/examples/complete/pipeline.yaml

bench: $(READY) ## run the benchmarks (minutes)
	$(BIN)/python -m pytest tests/benchmarks -m bench -p no:cacheprovider -s -n 0 $(PYTEST_ARGS)

lint: $(READY) ## formatting, linting, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

lock: ## write requirements.lock anew from pyproject.toml (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra dev --no-header --no-annotate pyproject.toml -o requirements.lock

wheel: $(READY) ## build dist/*.whl
	$(BIN)/hatchling build -t wheel

clean: ## remove the virtual environment and what was built
	rm -rf $(VENV) dist build
