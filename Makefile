# Two commands are all a newcomer needs: `make serve` and `make test`. Everything else is listed by `make help`.
.DEFAULT_GOAL := help
.PHONY: help serve test check format lint types layers site bench build coverage statements docs nightly lock sbom clean

PYTHON ?= python3
# Every command and every test starts a Python: what it imports is compiled once.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEVELOP := $(VENV)/.develop-installed

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

serve: $(RUNTIME)  ## run Preceptor on 127.0.0.1:3003 with its data in .preceptor/
	@PRECEPTOR_DATA_DIR="$${PRECEPTOR_DATA_DIR:-.preceptor}" exec $(BIN)/preceptor serve

test: $(DEVELOP)  ## the whole suite, on SQLite and on a PostgreSQL that the run starts itself
	@tools/chromium.sh
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder

coverage: $(DEVELOP)  ## the same with a report of the lines that no test reached in its own process
	@tools/chromium.sh
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: lint types layers site  ## format, lint, types, import contracts, the documentation site

format: $(DEVELOP)  ## fix what can be fixed
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

lint: $(DEVELOP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: $(DEVELOP)
	$(BIN)/pyright

layers: $(DEVELOP)
	$(BIN)/lint-imports

site: $(DEVELOP)  ## build the documentation site into site/; a link that leads nowhere fails
	$(BIN)/zensical build --strict --clean

bench: $(DEVELOP)  ## ratios against the baselines, measured in one interleaved run
	$(BIN)/python -m benchmarks

statements: $(DEVELOP)  ## write the text of every statement, and of a new SQLite file, that is run without SQLAlchemy
	$(BIN)/python -m tools.statements

docs: $(DEVELOP)  ## write the reference pages and the table of contents that come from the code
	$(BIN)/python -m tools.document

nightly: $(DEVELOP)  ## the same tests with the large sample sizes
	@tools/chromium.sh
	PRECEPTOR_NIGHTLY=1 $(BIN)/pytest

build: $(DEVELOP)  ## wheel and source archive in dist/, versioned from the tag, with the bill of materials
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python tools/sbom.py dist

sbom: $(DEVELOP)  ## the bill of materials of the lock, as CycloneDX, in dist/
	$(BIN)/python tools/sbom.py dist

lock: $(VENV)/.uv-installed  ## pin every dependency again, with hashes and without a registry's name
	$(BIN)/uv pip compile pyproject.toml --all-extras --group weights $(LOCK_OPTIONS) -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --all-extras --group weights --group dev $(LOCK_OPTIONS) -o requirements-dev.lock
LOCK_OPTIONS := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet

clean:  ## forget the environment (your data in .preceptor/ stays)
	rm -rf $(VENV)

$(VENV)/.uv-installed: tools/uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Preceptor needs Python 3.11 or newer: set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing: apt-get install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r tools/uv.lock
	@touch $@

$(RUNTIME): $(VENV)/.uv-installed requirements.lock pyproject.toml
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps -r requirements.lock -r tools/build.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(DEVELOP): $(RUNTIME) requirements-dev.lock
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes --no-deps -r requirements-dev.lock
	@touch $@
