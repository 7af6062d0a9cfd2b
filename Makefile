# `make demo` and `make test` need Python 3.11 or newer with venv, and nothing else.
PYTHON ?= python3
WORKERS ?= auto
# make bench BENCHES=twin; make fuzz SECONDS=600
BENCHES ?= ledger binding twin noise answers
SECONDS ?= 60
ANSWERS ?= 10000
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
export PYTHONDONTWRITEBYTECODE = 1

.PHONY: help demo test check format coverage bench fuzz privacy clean

help:
	@echo "make demo      run the gateway on a sample clinic and show it around"
	@echo "make test      run the tests"
	@echo "make check     lint, types, import contracts"
	@echo "make bench     measure: the ledger, binding, the twin, the noise, answers"
	@echo "make fuzz      throw broken SQL at the way in, for a minute"
	@echo "make privacy   try to tell neighbouring databases apart, for some minutes"
	@echo "make format    format the code"
	@echo "make coverage  the tests with branch coverage"
	@echo "make clean     remove what the above made"

demo: $(VENV)/runtime
	@$(BIN)/gateway demo

test: $(VENV)/test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

check: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/test
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

coverage: $(VENV)/test
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

bench: $(VENV)/test
	@set -e; for bench in $(BENCHES); do echo "$$bench"; $(BIN)/python bench/$$bench.py; done

fuzz: $(VENV)/test
	cd tests && ../$(BIN)/python -m binding.fuzz $(SECONDS)

privacy: $(VENV)/test
	cd tests && ../$(BIN)/python -m privacy.long_neighbours $(SECONDS)
	cd tests && ../$(BIN)/python -m privacy.long_distinguisher $(ANSWERS)
	cd tests && ../$(BIN)/python -m privacy.long_distinguisher_over_rest $$(($(ANSWERS) / 20))

clean:
	rm -rf $(VENV) .demo .coverage .hypothesis .mypy_cache .ruff_cache .pytest_cache *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name it with: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "Python's venv is needed; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/runtime: requirements.lock pyproject.toml setup.py | $(VENV)/bin/python
	@echo "installing the gateway into $(VENV) ..."
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/test: requirements-test.lock $(VENV)/runtime
	@echo "installing the test tools into $(VENV) ..."
	@$(PIP) --require-hashes -r requirements-test.lock
	@touch $@
