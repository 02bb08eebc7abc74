# Two commands for a fresh machine: `make demo` and `make test`. They need Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The version that the packaged dumps were made with; another one may write them differently.
TRITON := 3.9.0
# The references of emulated kernels are held against PyTorch, on the CPU.
TORCH := 2.13.0

# Tests start hundreds of processes, which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test engine slow-sample nightly lint types wheel dumps gallery results everything extras browser mutation clean

demo: $(VENV)/run
	@mkdir -p demo
	@echo "== schedule attention forward for Hopper, from the packaged TTGIR"
	$(BIN)/twill schedule fa_fwd_hopper --machine hopper_h100 --model paper -o demo/schedule.json
	@echo "== verify it with code that shares nothing with the solver"
	$(BIN)/twill verify demo/schedule.json
	@echo "== execute it on the simulated SM"
	$(BIN)/python -m twill.sim run demo/schedule.json --strict
	@echo "== against the naive loops"
	$(BIN)/python -m twill.sim compare demo/schedule.json
	@echo "== write it as a Gluon kernel, and execute that on NumPy"
	$(BIN)/twill emit demo/schedule.json -o demo/kernel.py
	$(BIN)/twill run-kernel demo/kernel.py --emulate --no-victims

# Of other kinds: make test KINDS='slow and sample'
test: engine
	$(BIN)/python -m pytest -n 2 --dist worksteal $(if $(KINDS),-m '$(KINDS)')

# The compiled engine, for tests only: a minute, and at once where it is compiled from these sources already.
engine: $(VENV)/test
	$(BIN)/python -c 'from tests.support import engine; print(engine.build())'

# Longer tests, some of each kind; `pytest -m slow` runs all.
slow-sample:
	$(MAKE) test KINDS='slow and sample'

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test
	$(BIN)/mypy

wheel: $(VENV)/test
	$(BIN)/python -m tests.check_wheel

# Seeded samples of mutants of what judges and of what searches; an hour or two.
mutation: $(VENV)/test
	$(BIN)/pip install --quiet -e '.[mutation]'
	$(BIN)/python -m tests.mutants 300 2027 judges
	$(BIN)/python -m tests.mutants 100 2027 search

# What takes hours: mutants, every slow test, fuzzing, clocks, and what the project proves itself with. Its output
# is to be read.
nightly: engine mutation
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow or nightly'
	$(BIN)/python -m tests.validation.make_orders --check
	$(BIN)/python -m tests.validation.published
	$(BIN)/python -m tests.validation.published --switches
	$(BIN)/python -m tests.validation.published_bounds
	$(BIN)/python -m tests.validation.published_curves
	$(BIN)/python -m tests.validation.load_fit
	$(BIN)/python -m tests.validation.simulator_bench
	$(BIN)/python -m tests.validation.bench
	$(BIN)/twill reproduce

# What the extra adds: a Dask cluster.
extras: $(VENV)/test
	$(BIN)/pip install --quiet -e '.[cluster]'
	$(BIN)/python -m pytest -m extras

# The page of `twill explore` in Chromium: the one on the PATH, or the one that TWILL_CHROMIUM names.
browser: $(VENV)/test
	$(BIN)/pip install --quiet -e '.[browser]'
	$(BIN)/python -m pytest -m browser

# Everything that needs Triton (no GPU): its tests, and the packaged TTGIR dumps made anew.
dumps: $(VENV)/test
	$(BIN)/pip install --quiet -e '.[triton]' triton==$(TRITON)
	$(BIN)/python -m pytest -m triton
	$(BIN)/python -m tests.validation.make_ttgir --check

# Everything that needs PyTorch, whose build for CPUs (200 MB) has an index of its own.
torch: $(VENV)/test
	$(BIN)/pip install --quiet torch==$(TORCH)
	$(BIN)/python -m pytest -m torch

# The tables of docs from traces/results, by the date, commit and machine of each figure.
results: $(VENV)/test
	$(BIN)/python -m tests.validation.tables

# docs/gallery.md and its pictures, from the dumps; six minutes of a core.
gallery: $(VENV)/test
	$(BIN)/python -m tests.validation.gallery --jobs 2

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e .
	@touch $@

$(VENV)/test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet -e '.[test]'
	@touch $@ $(VENV)/run

# All extras at once, for `.ci/run`.
everything: $(VENV)/test
	$(BIN)/pip install --quiet -e '.[cluster,browser,triton]' triton==$(TRITON) torch==$(TORCH)

clean:
	rm -rf $(VENV) demo build dist twill_gpu.egg-info
