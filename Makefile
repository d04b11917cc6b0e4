# Everything a newcomer needs, with python3 (3.11 or later), make and git on the machine.
# Each target makes .venv and installs what it needs on first use.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-all test-deep test-compile check docs bench bench-latency bench-methods bench-peers tables tune fuzz wheel format clean

help:
	@echo "make demo           robx demo: recourse for declined applicants, before and after a retraining"
	@echo "make test           run the quick tests"
	@echo "make test-all       run all tests, the kernels' a second time without the compiler"
	@echo "make test-deep      the same with three times as many examples, new ones in every run; takes most of an hour"
	@echo "make test-compile   whether answers compile nothing after robx compile; takes minutes"
	@echo "make check          lint, types, layers"
	@echo "make docs           the pages, into docs/_build/html"
	@echo "make bench          the stability metric against the model libraries; Frugal against RobX, HELOC=<file>; large cases; pipelines"
	@echo "make bench-latency  one applicant, batches, fitting, loading, the first call, beside the model's own score"
	@echo "make bench-methods  speed and worth of the counterfactuals, against a literal twin and DiCE"
	@echo "make bench-peers    the same question to DiCE, NICE, OCEAN and RobustX, as far as they are installed"
	@echo "make tables         the paper's tables, into build/tables: German Credit; DATA=heloc HELOC=<file>; TABLE=<one>, or TABLE=frontier;"
	@echo "                    OUT=experiments/results updates the committed ones"
	@echo "make tune           search for the hyperparameters of the tables' models again; DATA=..."
	@echo "make fuzz           thousands of damaged model files and of random pipelines (slow)"
	@echo "make wheel          build the wheel, install it by itself, run robx demo from it"

$(VENV)/pip: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robx needs Python 3.11 or later: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	@touch $@

$(VENV)/demo: $(VENV)/pip pyproject.toml
	$(INSTALL) --editable .
	@touch $@

# DiCE comes without what it asks for: XGBoost with CUDA, 700 MB. What it needs is beside it.
$(VENV)/test: $(VENV)/pip pyproject.toml
	$(INSTALL) --editable . --group test
	$(INSTALL) --no-deps dice-ml raiutils
	@touch $@

$(VENV)/check: $(VENV)/test
	$(INSTALL) --group check
	@touch $@

$(VENV)/docs: $(VENV)/test
	$(INSTALL) --group docs
	@touch $@

$(VENV)/experiments: $(VENV)/pip pyproject.toml
	$(INSTALL) --editable . --group experiments jsonschema
	$(INSTALL) --no-deps dice-ml raiutils
	@touch $@

demo: $(VENV)/demo
	@$(BIN)/robx demo --force

test: $(VENV)/test
	$(BIN)/python -m pytest --numprocesses auto -m "not slow"

# The kernels' tests run a second time as plain Python, with the compiler off.
KERNELS := tests/kernels tests/methods/baselines/kernels
test-all: $(VENV)/test
	$(BIN)/python -m pytest --numprocesses auto --hypothesis-profile all
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --numprocesses auto --hypothesis-profile all $(KERNELS)

test-deep: $(VENV)/test
	$(BIN)/python -m pytest --numprocesses auto --hypothesis-profile deep

check: $(VENV)/check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/check
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Warnings are errors; nothing is fetched.
docs: $(VENV)/docs
	$(BIN)/sphinx-build -W --keep-going --quiet --builder html docs docs/_build/html

# The wheel in an environment of its own, without the repository.
wheel: $(VENV)/pip
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -c constraints.txt --wheel-dir dist .
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd dist && venv/bin/robx demo --force

bench: $(VENV)/test
	$(BIN)/python -m benchmarks.stability
	$(BIN)/python -m benchmarks.frugal $(if $(HELOC),--heloc $(HELOC))
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.pipelines

test-compile: $(VENV)/test
	ROBX_TEST_COMPILE=1 $(BIN)/python -m pytest -q tests/cli/test_compile.py

# Updates the committed results and the page about speed.
bench-latency: $(VENV)/test
	$(BIN)/python -m benchmarks.latency

bench-methods: $(VENV)/test
	PYTHONPATH=tests $(BIN)/python -m benchmarks.counterfactuals

# Tools that cannot share an environment are named by their interpreters: PEERS="--nice-python ...".
bench-peers: $(VENV)/test
	$(BIN)/python -m benchmarks.peers $(PEERS)

DATA ?= german
EXPERIMENT = $(BIN)/python -m experiments.$(1) --data $(DATA) $(if $(HELOC),--heloc $(HELOC))

# Into build/tables, which git ignores; OUT=experiments/results updates the committed results.
tables: $(VENV)/experiments
	$(call EXPERIMENT,run) $(if $(TABLE),--table $(TABLE)) $(if $(OUT),--out $(OUT))

tune: $(VENV)/experiments
	$(call EXPERIMENT,tune)

fuzz: $(VENV)/test
	ROBX_FUZZ=3000 $(BIN)/python -m pytest --numprocesses auto -m fuzz

clean:
	rm -rf $(VENV) dist docs/_build docs/auto_gallery docs/reference/generated robx-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
