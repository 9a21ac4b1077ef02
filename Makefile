# Each target does all its own set-up: a virtual environment in .venv, made with uv if it is there, else with pip.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
    $$python -c '$(NEW_ENOUGH)' 2>/dev/null && { echo $$python; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test environments lint bench conformance clean

demo: $(READY)
	$(BIN)/mlebench demo

test: lint
	$(BIN)/pytest -n auto -q

# What the tests of whole attempts need: AGENTS="aide mini mlab openhands codex claude-code gemini-cli" is all there is.
AGENTS ?= aide mini mlab
environments: $(READY)
	$(BIN)/mlebench agents build $(AGENTS) --environment light

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --warnings

conformance: $(READY)
	$(BIN)/pytest -n auto -q tests/conformance

bench: $(READY)
	$(BIN)/python benchmarks/grading.py
	$(BIN)/python benchmarks/preparing.py --scale 0.002
	$(BIN)/python benchmarks/data.py --files 2000 --gigabytes 0.05
	$(BIN)/python benchmarks/running.py --attempts 50

$(READY): pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(NEW_ENOUGH)' || \
	    { echo "mlebench needs Python 3.11 or later; name one with make PYTHON=/path/to/python3"; exit 1; }
	@if command -v uv >/dev/null; then \
	    uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
	    $(PYTHON) -m venv $(VENV) || { echo "python3 can't make virtual environments; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }; \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi
	@touch $@

clean:
	rm -rf $(VENV) mlebench-demo .pytest_cache .ruff_cache .hypothesis
