# Trialplate: set-up and everyday commands. Everything happens in .venv of this folder.
PYTHON ?= $(firstword $(foreach name,python3.11 python3 python3.12 python3.13 python3.14,$(if $(shell $(name) -c "import sys; sys.version_info >= (3, 11) and print(1)" 2>/dev/null),$(name))))
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo live test test-all lint format schemas check bench error-rates clean

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "python 3.11 or later is needed; set PYTHON=..."; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[dev]'
	touch $(STAMP)

demo: setup            ## the main job, without any key: init, run, report, gate, verify, tamper, verify
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/demo.sh

live: setup            ## the same project against a real small model, served locally
	PATH="$(CURDIR)/$(BIN):$$PATH" sh scripts/live.sh

test: setup            ## every test
	$(BIN)/python -m pytest -q

lint: setup
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix src tests

schemas: setup         ## write schemas/ anew from the one definition
	$(BIN)/python -m trialplate.spec.schemas --write

check: lint test

bench: setup           ## the table of DESIGN section 9, side by side
	$(BIN)/python benchmarks/bench.py

error-rates: setup     ## how often naive and guarded rules decide wrongly, by simulation
	$(BIN)/python benchmarks/error_rates.py

clean:
	rm -rf .venv demo build dist
