# Python 3.11 and PyPI are all that is assumed; everything is installed into .venv.
PYTHON ?= python3.11
VENV   := .venv
READY  := $(VENV)/.ready
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DVC_NO_ANALYTICS = 1

.PHONY: help install repro test lint bench costs clean
.DEFAULT_GOAL := help

help:                  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */:/' | awk -F: '{printf "  make %-10s %s\n", $$1, $$2}'

install: $(READY)      ## make .venv with the pinned packages (about 1 GB on disk with the CPU build of torch)

$(READY): requirements.txt constraints.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found; install Python 3.11 or run 'make PYTHON=/path/to/python3.11'"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r requirements.txt -c constraints.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

repro: $(READY)        ## run the cell that `run` in params.yaml names; ends with its table
	dvc repro
	@sed -n '/^\*\*/p; /^| *|/,/^$$/p' reports/summary.md | sed -n '1,/^$$/p'

test: $(READY)         ## run all tests; those on real corpora need COMPAUG_MIRROR and skip without it
	pytest

lint: $(READY)         ## ruff, check and format
	ruff check .
	ruff format --check .

bench: $(READY)        ## compare fast and plain variants in one run; writes reports/bench.md
	python -m stages.bench --out reports/bench.md

costs: $(READY)        ## seconds, parameters trained and device of every stage that has run here
	@python -m stages.costs

clean:                 ## remove every output of the root pipeline; dvc.lock and reports stay
	rm -rf data/raw data/splits data/audit data/compositions data/synthetic data/selected models/run .checkpoints .costs
