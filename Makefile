# Everything a developer does here. `make help` lists the targets; the first one sets up .venv.

BIN := .venv/bin
SUITE := $(BIN)/python -m pytest -n 2
NATIVE := $(wildcard CMakeLists.txt src/native/*)
LOCK := pyproject.toml --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-header --no-annotate
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check format lint types imports docs fast bench lock clean tools

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/package  ## Fit Iris, ask the model, classify held-out flowers, draw a picture
	@$(BIN)/tensorpmf demo

test: .venv/package  ## Run every test, with coverage
	$(SUITE) --cov --cov-report=term

check: lint types imports docs fast  ## Format, lint, types, import contracts, docs, fast tests

format: .venv/package  ## Rewrite the code in the house format
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: .venv/package
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/package
	$(BIN)/mypy
	$(BIN)/pyright

imports: .venv/package
	$(BIN)/lint-imports --no-logo

docs: .venv/package  ## Build the documentation into docs/_build; a warning is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build

fast: .venv/package
	$(SUITE) -m "not slow"

bench: .venv/bench  ## Time the kernels and the fit against the alternatives
	$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-only -p no:randomly -s

lock: .venv/package  ## Pin the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile $(LOCK) --extra dev -o requirements/dev.txt
	$(BIN)/uv pip compile $(LOCK) --extra bench -c requirements/dev.txt -o requirements/bench.txt

clean:  ## Remove everything that was built, .venv included
	rm -rf .venv build dist docs/_build out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage

# ---- the environment: each step leaves a stamp, so that a second `make` does nothing ----

.venv/package: .venv/libraries pyproject.toml $(NATIVE) | tools
	@echo "Compiling the kernels …"
	@$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

.venv/libraries: requirements/dev.txt | tools
	@test -x $(BIN)/python || $$($(FIND_PYTHON)) -m venv .venv || { echo "make: Python cannot make a virtual environment here (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Fetching the libraries into .venv (once, about a minute) …"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

.venv/bench: .venv/package requirements/bench.txt
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bench.txt
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
