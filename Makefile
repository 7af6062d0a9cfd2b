# `make demo` and `make test` need Python 3.11 or newer with venv, and nothing else.
PYTHON ?= python3
# one more than there are cores: many tests wait for a server
WORKERS ?= $(shell cores=$$(nproc 2>/dev/null) && echo $$((cores + 1)) || echo auto)
# make bench BENCHES=twin; make fuzz SECONDS=600
BENCHES ?= ledger binding twin noise quantiles selection rollups answers formats pgwire overlap reuse unit_paths utility histograms
SECONDS ?= 60
ANSWERS ?= 10000
# the tests whose full form takes more than `make test` does; the others would be the same again
SAMPLED = $(shell grep -rlE --include='test_*.py' 'from samples import|full_samples|hypothesis' tests)
# make e2e SUITES=tests/wire: without those that need Java, Node or Superset
SUITES ?= tests/wire tests/wire_more
VENV := .venv
E2E := .venv-e2e
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# compiled once for all processes of all runs, and beside no source, whatever the environment says
export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/pycache
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test test-unit e2e pgadmin yardsticks check format coverage bench fuzz statistics privacy clean

help:
	@echo "make demo      run the gateway on a sample clinic and show it around"
	@echo "make test      run the tests"
	@echo "make test-unit run the tests that start neither a server nor a process"
	@echo "make e2e       run real clients against the gateway: psql, drivers, data frames, BI tools"
	@echo "make pgadmin   open the tree of pgAdmin 4 on the gateway, in an environment of its own"
	@echo "make yardsticks ask the questions of TPC-H and OMOP, and compare them with plain SQL"
	@echo "make check     lint, types, import contracts, layout and names"
	@echo "make bench     measure: the ledger, binding, the twin, the noise, answers, utility, formats, the wire"
	@echo "make fuzz      throw broken SQL at the way in, for a minute"
	@echo "make statistics run the tests that take samples, with all their draws"
	@echo "make privacy   try to tell neighbouring databases apart and to reconstruct one, for some minutes"
	@echo "make format    format the code"
	@echo "make coverage  the tests with branch coverage"
	@echo "make clean     remove what the above made"

demo: $(VENV)/runtime
	@$(BIN)/gateway demo

test: $(VENV)/test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-unit: $(VENV)/test
	$(BIN)/pytest -n auto --dist worksteal -m unit

# psql by apt where root asks; pip's clients in an environment of their own; the others where install.sh puts them
e2e: $(VENV)/test $(E2E)/installed
	@command -v psql >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postgresql-client; } \
		|| { echo "psql is needed; on Debian: apt-get install postgresql-client"; exit 1; }
	$(if $(filter tests/wire_more%,$(SUITES)),PYTHON=$(abspath $(BIN))/python tests/wire_more/install.sh .e2e)
	E2E_PYTHON=$(abspath $(E2E))/bin/python E2E_CLIENTS=$(if $(filter tests/wire_more%,$(SUITES)),$(abspath .e2e)) \
		$(BIN)/pytest -n $(WORKERS) --dist loadfile $(SUITES)

pgadmin: $(VENV)/test .e2e/pgadmin/installed
	E2E_CLIENTS=$(abspath .e2e) $(BIN)/pytest tests/wire_more/test_pgadmin.py

.e2e/pgadmin/installed: tests/wire_more/pgadmin/requirements.lock | $(VENV)/bin/python
	@$(BIN)/python -m venv .e2e/pgadmin
	@.e2e/pgadmin/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	@touch $@

# of TPC-H the rows, by DuckDB's generator, which exists for one version of it
yardsticks: $(VENV)/test .e2e/tpch/installed
	cd tests && ../$(BIN)/python -m endtoend.yardsticks.run

.e2e/tpch/installed: tests/endtoend/yardsticks/requirements.lock | $(VENV)/bin/python
	@$(BIN)/python -m venv .e2e/tpch
	@.e2e/tpch/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	@touch $@

check: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest tests/test_layout.py

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
	cd tests && ../$(BIN)/python -m frontends.pgwire.fuzz $(SECONDS)

statistics: $(VENV)/test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --full-samples --maxfail=1 $(SAMPLED)

privacy: statistics
	cd tests && ../$(BIN)/python -m privacy.long_corpus
	cd tests && ../$(BIN)/python -m privacy.long_neighbours $(SECONDS)
	cd tests && ../$(BIN)/python -m privacy.long_work && ../$(BIN)/python -m privacy.long_work 200
	cd tests && ../$(BIN)/python -m privacy.long_verdicts 100000
	cd tests && ../$(BIN)/python -m privacy.long_fuzz $(SECONDS)
	cd tests && ../$(BIN)/python -m privacy.long_distinguisher $(ANSWERS)
	cd tests && ../$(BIN)/python -m privacy.long_distinguisher_over_rest $$(($(ANSWERS) / 20))
	cd tests && ../$(BIN)/python -m privacy.reconstruction.long $$(($(ANSWERS) / 25))

clean:
	rm -rf $(VENV) $(E2E) .e2e .demo .coverage .hypothesis .mypy_cache .ruff_cache .pytest_cache *.egg-info

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

$(E2E)/installed: requirements-e2e.txt | $(VENV)/bin/python
	@echo "installing clients into $(E2E) ..."
	@$(BIN)/python -m venv $(E2E)
	@$(E2E)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements-e2e.txt
	@touch $@
