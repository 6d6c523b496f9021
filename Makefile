# Everything a developer does here. `make help` lists the targets; the first one sets up .venv.

BIN := .venv/bin
SUITE := $(BIN)/python -m pytest -n 2
NATIVE := $(wildcard CMakeLists.txt src/native/*)
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-header --no-annotate
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check format lint types imports docs fast bench lock clean tools

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/package  ## Fit Iris, ask the model, classify more flowers, draw a picture
	@$(BIN)/tensorpmf demo

test: .venv/dev .venv/package  ## Run every test, with coverage
	$(SUITE) --cov --cov-report=term

check: lint types imports docs fast  ## Format, lint, types, import contracts, docs, fast tests

format: .venv/dev .venv/package  ## Rewrite the code in the house format
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: .venv/dev .venv/package
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev .venv/package
	$(BIN)/mypy
	$(BIN)/pyright

imports: .venv/dev .venv/package
	$(BIN)/lint-imports --no-logo

docs: .venv/dev .venv/package  ## Build the documentation into docs/_build; a warning is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build

fast: .venv/dev .venv/package
	$(SUITE) -m "not slow"

bench: .venv/bench .venv/package  ## Time kernels and fits; fails if one became over 20 % slower
	$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-columns=min,rounds -p no:randomly -s $(BENCH)

lock: .venv/dev  ## Pin the newest versions that pyproject.toml allows
	$(PIP) uv
	$(LOCK) --upgrade --extra dev -o requirements/dev.txt
	$(LOCK) --upgrade --extra demo -c requirements/dev.txt -o requirements/demo.txt
	$(LOCK) --upgrade --extra bench -c requirements/dev.txt -o requirements/bench.txt

clean:  ## Remove everything that was built, .venv included
	rm -rf .venv build dist docs/_build out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage

# ---- the environment: each step leaves a stamp, so that a second `make` does nothing ----

PIP := $(BIN)/python -m pip -qq install

.venv/demo: requirements/demo.txt | tools
	@test -x $(BIN)/python || $$($(FIND_PYTHON)) -m venv .venv \
	|| { echo "make: Python cannot make a virtual environment here (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Fetching the libraries into .venv (once) …"
	@$(PIP) --require-hashes -r $<
	@touch $@

.venv/package: .venv/demo pyproject.toml $(NATIVE) | tools
	@echo "Compiling the kernels …"
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

.venv/dev: requirements/dev.txt | .venv/package
	@echo "Fetching what tests and checks need …"
	@$(PIP) --require-hashes -r $<
	@touch $@

.venv/bench: requirements/bench.txt | .venv/dev
	@$(PIP) --require-hashes -r $<
	@touch $@

tools:
	@python=$$($(FIND_PYTHON)); \
	test -n "$$python" || { echo "make: Python 3.11 or newer is needed and was not found"; exit 1; }; \
	$$python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
	|| { echo "make: Python's C headers are needed to compile the kernels (Debian: apt-get install python3-dev)"; exit 1; }
	@command -v $(CXX) > /dev/null \
	|| { echo "make: a C++ compiler is needed to compile the kernels and $(CXX) was not found (Debian: apt-get install g++)"; exit 1; }

# The first Python that is new enough.
FIND_PYTHON = for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && echo $$python && break; done
