# Two commands on a fresh machine that has Python >= 3.11 and make:  make gap   and   make test
PYTHON ?= python3
VENV ?= .venv
SOURCE ?= mix:n=2000,seed=0
MEMORY ?= 16492
# Files of tests side by side, one per core; PYTEST= runs them one after the other.
PYTEST ?= -n auto --dist loadfile
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help gap test test-all docs lint format types imports check clean
.DEFAULT_GOAL := help

WORKS := $(BIN)/python -c "import pip, sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null

# Stamps are worth something only while the environment behind them works: a broken one is made anew.
ifneq ($(wildcard $(VENV)/stamp.*),)
$(shell $(WORKS) || rm -f $(VENV)/stamp.*)
endif

help:
	@echo "make gap       install into $(VENV) and compare all policies with a certified bound on $(SOURCE)"
	@echo "make test      install with the test extra and run all fast tests;  make test-all: the slow ones too"
	@echo "make docs      the documentation as a site in build/site, strictly: a broken link fails"
	@echo "make lint      ruff;  make types: mypy --strict;  make imports: the import rule;  make check: all of them"
	@echo "make clean     remove $(VENV), build files and caches"

$(VENV)/stamp.venv:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'kvbound needs Python 3.11 or newer, this is ' + sys.version.split()[0] + '; try: make PYTHON=python3.12')"
	@$(WORKS) || test ! -e $(VENV) -o -e $(VENV)/pyvenv.cfg -o $(VENV) = .venv || \
	    { echo "$(VENV) is no virtual environment; remove it or choose another VENV"; exit 1; }
	$(WORKS) || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/stamp.run: $(VENV)/stamp.venv pyproject.toml
	@echo "installing into $(VENV) (a minute or two, once) ..."
	$(PIP) --editable .
	@touch $@

$(VENV)/stamp.test: $(VENV)/stamp.venv pyproject.toml
	@echo "installing with the test extra into $(VENV) ..."
	$(PIP) --editable ".[test]"
	@touch $@ $(VENV)/stamp.run

$(VENV)/stamp.dev: $(VENV)/stamp.test pyproject.toml
	$(PIP) --editable ".[test,dev]"
	@touch $@

$(VENV)/stamp.docs: $(VENV)/stamp.venv pyproject.toml
	$(PIP) --editable ".[docs]"
	@touch $@ $(VENV)/stamp.run

gap: $(VENV)/stamp.run
	$(BIN)/kvbound gap "$(SOURCE)" --memory $(MEMORY)

test: $(VENV)/stamp.test
	$(BIN)/python -m pytest $(PYTEST)

test-all: $(VENV)/stamp.test
	$(BIN)/python -m pytest $(PYTEST) -m "slow or not slow"

docs: $(VENV)/stamp.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open build/site/index.html"

lint: $(VENV)/stamp.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/stamp.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# mypy follows folders, not package-dir: show it one tree in which models/ is kvbound/models.
types: $(VENV)/stamp.dev
	@rm -rf build/types && mkdir -p build/types/kvbound
	@for path in kvbound/* models checkers instances solvers reductions; do \
	    case $$path in *__pycache__) ;; *) ln -s "$(CURDIR)/$$path" "build/types/kvbound/$$(basename $$path)" ;; esac; done
	MYPYPATH=build/types $(BIN)/mypy --explicit-package-bases -p kvbound

imports: $(VENV)/stamp.test
	$(BIN)/python -m pytest tests/test_architecture.py

check: lint types imports

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
