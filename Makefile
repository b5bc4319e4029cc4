# Every target sets up what it needs: a virtual environment in VENV with the tested versions of requirements/, and one in
# EXTRAS_VENV that has the optional packages, too: so the first shows that nothing else needs them.
VENV ?= .venv
EXTRAS_VENV ?= $(VENV)-extras
PYTHON ?= python3
ARGS ?=

BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS_READY := $(EXTRAS_VENV)/.ready
# Runs of neighbouring tests, as they share kernels and fixtures; a process that has none left takes half of another's.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: help train test test-long test-extras lint types types-on-windows format clean

ifneq ($(lastword $(MAKEFILE_LIST)),Makefile)
# make -f FOLDER/Makefile, typed elsewhere: all paths below are those of that folder, so make starts again there.
help train test test-long test-extras lint format clean:
	@$(MAKE) -C $(dir $(lastword $(MAKEFILE_LIST))) $@
else

help:
	@echo "make train       train a parser on the sample treebank; ARGS='treebank=hu column=5 ...' for another run"
	@echo "make test        run the tests but for the long ones; ARGS='-k name' for some of them"
	@echo "make test-long   run the long ones, and those of properties with ten times as many examples"
	@echo "make test-extras run those that need spaCy, Ray, transformers, typst, hydra's plugins, Chromium or a package registry; no skips"
	@echo "make lint        ruff, mypy, and the layers of the code (import-linter)"
	@echo "make format      let ruff put the code in order"
	@echo "make clean       remove the virtual environment and the caches"
	@echo
	@echo "VENV=$(VENV) is the virtual environment, PYTHON=$(PYTHON) (3.11 to 3.13) makes it."

train: $(READY)
	$(BIN)/python scripts/train.py $(ARGS)

test: $(READY)
	$(PYTEST) -m 'not long' $(ARGS)

test-long: $(READY)
	$(PYTEST) -m 'long or hypothesis' --hypothesis-profile=thorough $(ARGS)

test-extras: $(EXTRAS_READY)
	OPTIMAL_STEP_INSTALL=1 $(EXTRAS_VENV)/bin/python -m pytest -m extras --no-skips $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs=2 types types-on-windows
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

types-on-windows: $(READY)
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 $(foreach package,oracles parser scripts experiments,-p $(package))

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(EXTRAS_VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): EXTRAS = dev
$(EXTRAS_READY): EXTRAS = dev,draw,pretrained,ray,spacy,sweeps
$(READY) $(EXTRAS_READY): pyproject.toml requirements/constraints.txt
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(not (3, 11) <= v < (3, 14) and "Python 3.11 to 3.13 is needed, $(PYTHON) is %d.%d; name another with make PYTHON=..." % v)'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements/constraints.txt --editable '.[$(EXTRAS)]' || { echo "$(@D) could not be set up: see above whether the package registry refuses, or lacks a version of requirements/constraints.txt" >&2; exit 1; }
	touch $@

endif
