# The two words to start with: `make demo` and `make test`. Neither needs anything done before it.
# Both make their own virtual environment (in .venv, or where FLINT_VENV says), build the
# third-party libraries once (minutes, kept in ~/.cache/flintstate), and build the extension in place.

PYTHON ?= python3
VENV := $(abspath $(or $(FLINT_VENV),.venv))
STAMP := $(VENV)/flintstate.stamp
PY := $(VENV)/bin/python
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
ROUNDS ?= 20

export FLINT_VENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)

.PHONY: help archives build demo test bench lint format wheel sdist asan tsan tidy soak java clean

help:
	@echo "make demo    runs the main example"
	@echo "make test    all tests: C++, Python, Spark, the rules of the house"
	@echo "make bench   the benchmarks, the peers in the same runs"
	@echo "make lint    style and types; make format mends what a tool can mend; make tidy has"
	@echo "             clang-tidy look at all of our C++, which takes long"
	@echo "make wheel   wheels for every CPython here, each tested as installed, into dist/"
	@echo "make sdist   a source distribution that builds offline, into dist/"
	@echo "make asan    the C++ tests, and the Python ones of the native part, under the address"
	@echo "             and undefined sanitizers; make tsan the C++ tests under the thread one"
	@echo "make soak    the tests with long matrices: ROUNDS=$(ROUNDS) times the usual"
	@echo "make build   the extension, in place; make clean removes what was built here"

$(STAMP): pyproject.toml .ci/environment.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is too old: install Python 3.11 or later, or set PYTHON" >&2; false; }
	@$(PYTHON) .ci/environment.py venv $(VENV)
	@touch $@

build: $(STAMP)
	@$(PY) .ci/environment.py compiler
	@echo "== building the extension and the C++ tests"
	@mkdir -p build
	@cmake --preset dev > build/configure.log || { cat build/configure.log; false; }
	@cmake --build --preset dev --parallel $(JOBS)

java: $(STAMP)
	@$(PY) .ci/environment.py java

demo: build java
	$(PY) examples/orders.py

test: build java
	@echo "== C++ tests"
	@ctest --preset dev --parallel $(JOBS) --exclude-regex fuzz
	@echo "== Python tests, and beside them a minute of fuzzing"
	@ctest --preset dev --tests-regex fuzz > build/fuzz.log & fuzz=$$!; \
	  $(PY) -m pytest -q -n $(JOBS) --dist worksteal --ignore tests/python/spark; tests=$$?; \
	  wait $$fuzz || { cat build/fuzz.log; false; } && tail -n 1 build/fuzz.log && [ $$tests = 0 ]
	@echo "== Spark tests"
	@$(PY) -m pytest -q -n $(JOBS) --dist loadfile tests/python/spark

bench: build
	@cmake --preset release && cmake --build --preset release --parallel $(JOBS)
	@echo "== C++"
	@set -e; for b in build/release/*_bench; do $$b --benchmark_min_time=0.2s; done
	@echo "== Python"
	@$(PY) -m pytest -q -o pythonpath=$$(bash .ci/package release) --benchmark-enable \
	  --benchmark-max-time=0.5 --benchmark-columns=min,median,ops,rounds bench/python
	@echo "== Peers"
	@export PYTHONPATH=$$(bash .ci/package release) && \
	  $(PY) bench/peers/keys.py --rows 1000000 --rounds 5 && \
	  $(PY) bench/peers/store.py --rows 1000000 --rounds 3 && \
	  $(PY) bench/peers/changelog.py

lint: build
	@bash .ci/lint

format: $(STAMP)
	ruff check --fix --quiet . ; ruff format .
	git ls-files '*.cc' '*.h' | xargs clang-format -i

asan tsan: $(STAMP)
	@cmake --preset $@ && cmake --build --preset $@ --parallel $(JOBS)
	@ctest --preset $@
	@[ $@ = tsan ] || bash .ci/sanitized

tidy: $(STAMP)
	@$(PY) -m pip install --quiet "clang-tidy==23.1.4"
	@cmake --preset tidy && cmake --build --preset tidy --parallel $(JOBS)

soak: build java
	FLINT_ROUNDS=$(ROUNDS) ctest --preset dev
	FLINT_ROUNDS=$(ROUNDS) $(PY) -m pytest -q tests/python

archives: $(STAMP)
	@$(PY) cpp/third_party/fetch.py --into cpp/third_party/archives lz4 zstd rocksdb

sdist: archives
	@$(PY) -m build --sdist --outdir dist .

wheel: $(STAMP)
	@$(PY) .ci/wheel.py dist

clean:
	rm -rf build dist cpp/third_party/archives python/flintstate/_core*.so
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
