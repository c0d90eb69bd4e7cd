# Python 3.11 and PyPI are all that is assumed; everything is installed into .venv.
PYTHON ?= python3.11
VENV   := .venv
READY  := $(VENV)/.ready
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DVC_NO_ANALYTICS = 1
# glibc hands a freed tensor back to the system, which then has to fault it in again at the next step; these keep it (peak memory is the same).
export MALLOC_MMAP_THRESHOLD_ ?= 1073741824
export MALLOC_TRIM_THRESHOLD_ ?= 1073741824

.PHONY: help install repro paper classifiers prior ablations paper-cells classifiers-cells prior-cells ablations-cells sweep test lint bench costs provenance clean
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

# The grids: first what cells share, step by step; then one process for every cell without its seed, JOBS at a time, those with the most
# stages first, so that no long one is left alone at the end. `--single-item`, because DVC locks what comes before a stage for writing even
# when it is up to date, so that two processes could not share a split. The last line of each target checks everything.
JOBS  ?= 2
GRIDS := paper classifiers prior ablations
$(GRIDS) $(GRIDS:=-cells): export OMP_NUM_THREADS ?= 1
STEPS := backbones train_filter label_generator
one   := dvc --wait-for-lock repro --single-item
list  = @set -e; trap 'rm -f .stages.$@.partial' EXIT; trap 'exit 130' INT TERM; dvc stage list --name-only $(1) > .stages.$@.partial
shared = $(list); dvc repro --glob '$(1):audit@*'; \
	for step in $(STEPS); do grep "$$step@" .stages.$@.partial | xargs -P $(JOBS) -n 1 $(one); done
files  = $(addprefix reports/$(1)/,$(addsuffix /dvc.yaml,$(2)) dvc.yaml)
cells  = $(list); sed -nE 's/.*@(.*)-[0-9]+(-[ab])?$$/\1/p' .stages.$@.partial | sort | uniq -c | sort -rn | awk '{print $$2}' \
	| xargs -P $(JOBS) -I{} sh -c '$(one) $$(grep -E "@{}-[0-9]+(-[ab])?$$" .stages.$@.partial)'

# What is up to date is said to be so in half a minute; going through its cells one by one would take several.
FILES.paper       = $(call files,paper,texts synthetic selected trained)
FILES.classifiers = $(call files,classifiers,trained)
FILES.prior       = $(call files,prior,texts synthetic selected trained others)
FILES.ablations   = $(call files,ablations,texts synthetic selected trained)

paper: $(READY)        ## the grid of reports/paper, two processes at a time (JOBS=2)
classifiers: paper     ## that of reports/classifiers, after the paper's
prior: $(READY)        ## that of reports/prior
ablations: paper       ## that of reports/ablations, after the paper's
$(GRIDS):
	@if dvc status --quiet $(FILES.$@); then echo 'reports/$@: up to date'; else $(MAKE) --no-print-directory $@-cells; fi

paper-cells:
	$(call shared,reports/paper/texts/dvc.yaml)
	$(call cells,$(FILES.paper))
	dvc repro reports/paper/dvc.yaml

classifiers-cells:
	$(call cells,$(FILES.classifiers))
	dvc repro reports/classifiers/dvc.yaml

prior-cells:
	$(call shared,reports/prior/texts/dvc.yaml)
	$(call cells,$(filter-out %/others/dvc.yaml,$(FILES.prior)))
	dvc repro --glob 'reports/prior/others/dvc.yaml:ceiling@*'
	$(call cells,reports/prior/others/dvc.yaml)
	dvc repro reports/prior/dvc.yaml

ablations-cells:
	$(call list,$(FILES.ablations)); $(one) $$(grep supports@ .stages.$@.partial); grep prefixes@ .stages.$@.partial | xargs -r -P $(JOBS) -n 6 $(one)
	$(call cells,$(FILES.ablations))
	dvc repro reports/ablations/dvc.yaml

KEY    ?= selection.k
VALUES ?= 150,300,600
SEEDS  ?= 13,21,42
sweep: $(READY)        ## the root cell for every value of a key: make sweep KEY=selection.k VALUES=150,300,600 SEEDS=13,21,42
	dvc exp run report --queue $$(git ls-files --others --ignored --exclude-standard data/own | sed 's/^/-C /') \
	    -S '$(KEY)=$(VALUES)' -S 'run.seed=$(SEEDS)'
	dvc exp run --run-all
	dvc exp show --only-changed --drop '.*(jacc|corr|comp|hamming|f1|rate|strict|per_|data|models|src|reports/).*' --sort-by reports/metrics.json:augmented.acc

test: $(READY)         ## run all tests; those on real corpora need COMPAUG_MIRROR and skip without it
	pytest

lint: $(READY)         ## ruff, check and format
	ruff check .
	ruff format --check .

bench: $(READY)        ## compare fast and plain variants in one run; writes reports/bench.md
	python -m stages.bench --out reports/bench.md

costs: $(READY)        ## seconds, parameters trained and device of every stage that has run here
	@python -m stages.costs

provenance: $(READY)   ## keep what the grids that ran here cost, for reports/index.html
	python -m stages.provenance --out reports/provenance.json

clean:                 ## remove every output of the root pipeline; dvc.lock and reports stay
	rm -rf data/raw data/splits data/audit data/compositions data/synthetic data/selected models/run .checkpoints .costs
