# Python 3.11 and PyPI are all that is assumed; everything is installed into .venv.
PYTHON ?= python3.11
VENV   := .venv
READY  := $(VENV)/.ready
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DVC_NO_ANALYTICS = 1

.PHONY: help install install-all repro repair grid tables verify golden sweep test test-all lint faults bench costs provenance clean
.DEFAULT_GOAL := help

help:                  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## */\t/' | awk -F'\t' '{printf "  make %-13s %s\n", $$1, $$2}'

# Extras of pyproject.toml: what `make repro` and `make test` need. CoDa's (spaCy) are left to `make install-all`.
EXTRAS := pipeline,data,cluster,lora,llm,dev
pip    := $(VENV)/bin/pip install --quiet --disable-pip-version-check -c requirements.txt -c constraints.txt

install: $(READY)      ## make .venv with the pinned packages (1.9 GB on disk with the CPU build of torch)

$(READY): requirements.txt constraints.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found; install Python 3.11 or run 'make PYTHON=/path/to/python3.11'"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(pip) --editable ".[$(EXTRAS)]"
	@touch $@

install-all: $(READY)  ## add what CoDa needs for parts of speech (spaCy, 0.2 GB)
	$(pip) --editable ".[coda]"

# What an experiment or the root cell needs, stage by stage, as many at a time as there are cores. `dvc repro` does the same one after the other.
EXPERIMENT ?= small
WORKERS    ?=
grid = python -m tools.grid $(if $(WORKERS),--workers $(WORKERS))

repro: $(READY)        ## run the cell that `run` in params.yaml names; ends with its verdict
	$(grid) dvc.yaml
	@sed '/^## Result/,$$d' reports/summary.md
	@python -m tools.seeds
	@echo 'Next: dvc exp run report -S run.generator=ls_pt, then dvc metrics diff; or your own file: compaug audit FILE'

repair: $(READY)       ## after an audit of your corpus: a classifier for use, from every row, with texts for rare combinations (params.yaml)
	$(grid) repair/dvc.yaml
	@echo "models/repair is the classifier: compaug predict models/repair FILE --out FILE, or compaug export DIR --repaired"

grid: $(READY)         ## make what Git does not have of an experiment of configs/experiments.yaml, then the tables: make grid EXPERIMENT=small (WORKERS=2)
	$(grid) --allow-missing $(EXPERIMENT)
	@$(MAKE) --no-print-directory tables

# Whatever trained the models, the tables' last digits are the same on every CPU.
tables: export COMPAUG_CPU = portable
tables: $(READY)       ## put what cells left here into the packs in Git, and make every table, figure and the page again; trains nothing
	dvc repro --force --single-item evaluate report reports/dvc.yaml:pack reports/dvc.yaml:results reports/dvc.yaml:tables reports/dvc.yaml:page
	python -m tools.readme README.md docs/machines.md

N ?= 5
verify: $(READY)       ## compare the cache with its hashes, build N random cells again and compare them with what Git has (N=5)
	python -m tools.verify --cache
	python -m tools.verify --n $(N)

golden: $(READY)       ## what the heavy stages compute on toys, for the tests: write what is new, or has another version (configs/versions.yaml)
	python -m tools.golden

KEY    ?= sizes.k
VALUES ?= 600,1200
SEEDS  ?= 42,43
sweep: $(READY)        ## the root cell for every value of a key: make sweep KEY=sizes.k VALUES=600,1200 SEEDS=42,43
	dvc exp run report --queue $$(git ls-files --others --ignored --exclude-standard data/own | sed 's/^/-C /') \
	    -S '$(KEY)=$(VALUES)' -S 'run.seed=$(SEEDS)'
	dvc exp run --run-all
	dvc exp show --only-changed --sort-by reports/metrics.json:acc_unseen.augmented

tests = pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder
test: $(READY)         ## the tests of minutes, on all cores; those on real corpora need COMPAUG_MIRROR and skip without it
	$(tests) -m "not slow"

test-all: $(READY)     ## all tests: those that run pipelines, kill stages and start workers too
	$(tests)

lint: $(READY)         ## ruff, check and format; which package may import which
	ruff check .
	ruff format --check .
	lint-imports --no-logo --no-cache

faults: $(READY)       ## damage what people bring and kill stages while they work; writes reports/reliability.md
	python -m tests.faults --out reports/reliability.md

bench: $(READY)        ## compare fast and plain variants in one run; writes reports/bench.md and bench_paper.md
	python -m tools.bench --out reports/bench.md
	COMPAUG_CPU=native python -m tools.bench --paper --out reports/bench_paper.md

costs: $(READY)        ## seconds, memory, parameters trained and device of every stage that has run here
	@python -m tools.costs

provenance: $(READY)   ## keep what the experiments that ran here cost, and which commit made their numbers, for the page
	python -m tools.provenance --out reports/provenance.json
	dvc repro --force --single-item reports/dvc.yaml:page
	python -m tools.readme README.md docs/machines.md

clean:                 ## remove every output of the root pipeline; dvc.lock and reports stay
	rm -rf data/raw data/splits data/audit data/matched data/compositions data/samples data/synthetic data/selected data/mixtures models/run .checkpoints .costs
