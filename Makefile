# Every target but `help` and `clean` installs what it needs first, so nothing else has to be typed.
# PYTHON picks the interpreter of the virtual environment VENV: 3.10 to 3.14, where ROS 2 wheels exist. RUNTIME is cpu, or gpu
# for CUDA and TensorRT: `make setup RUNTIME=gpu`. SIM picks the simulator, ROBOT the robot: `make demo SIM=mujoco ROBOT=so101`.

PYTHON ?= python3
RUNTIME ?= cpu
SIM ?= auto
ROBOT ?= panda
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --disable-pip-version-check
INSTALLED := $(VENV)/installed
BUILT := $(VENV)/built
DEVELOPING := $(VENV)/installed-dev
TRAINING := $(VENV)/installed-train
LEROBOT := $(VENV)/installed-lerobot
DOCS := $(VENV)/installed-docs
MUJOCO := $(VENV)/installed-mujoco
METADATA := setup.py setup.cfg pyproject.toml
# Compiled by every installation, and anew when one of them changes, without network.
COMPILED := $(shell find tendon -name '*.pyx')
comma := ,
# $(call add,EXTRAS) adds to the Tendon that is installed: no other of its name and version takes its place.
add = $(PIP) "tendon-vla[$(1)]==$$($(BIN)/python -c 'from importlib.metadata import version; print(version("tendon-vla"))')"
REPEATS ?= 5
KILLS ?= 300
REARMS ?= 100
# RESUME=--resume goes on with a run of `make faults` that was interrupted.
RESUME ?=
# Of every benchmark; BENCH=--busy measures beside other work, and the rows say so.
BENCH ?=
# Studies and peers: make bench BENCHMARKS='benchmarks/studies/*.py benchmarks/peers/*.py'
BENCHMARKS ?= benchmarks/*.py

# A test run starts a thousand processes, and each would compile all of Tendon where this is set.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-train setup-lerobot demo calibrate-demo test test-laws test-train test-lerobot faults lint types docs bench results compile clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(BUILT)  ## install Tendon, the ROS 2 wheels and the simulator into .venv (1-3 minutes)
	@echo "Tendon is installed in $(VENV). Next:"
	@echo "  make demo                          a simulated Panda does what it is told, and leaves a video"
	@echo "  source $(VENV)/bin/activate          then tendon is a command here: tendon --help, tendon doctor"

setup-dev: $(DEVELOPING)  ## add what tests, lint and benchmarks need, OpenVINO among it

setup-train: $(TRAINING)  ## add torch 2.13.0, for `tendon policy train` and `tendon policy export` only

setup-lerobot: $(LEROBOT)  ## add LeRobot beside that torch, for its exporters only

demo: $(INSTALLED) $(BUILT) $(if $(filter mujoco,$(SIM)),$(MUJOCO))  ## a simulated robot does what it is told; leaves a video, a timeline and a summary
	$(BIN)/tendon demo --robot $(ROBOT) --simulator $(SIM)

calibrate-demo: $(INSTALLED) $(BUILT) $(MUJOCO)  ## a simulated rig that is off is calibrated: report, profile, bundle check; in outputs/calibration-demo
	$(BIN)/tendon calibrate demo --simulator mujoco --out outputs/calibration-demo

test: $(DEVELOPING)  ## run every test, on four processes: three with running graphs, one that computes
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test-laws: $(DEVELOPING)  ## the laws with ten times as many examples, and those that take long; before an issue is resolved
	$(BIN)/python -m pytest -n 2 --max-worker-restart 0 --timeout 3600 -m "hypothesis or laws" --hypothesis-profile laws

# Two processes of one thread each take less time than one of two threads.
test-train: $(TRAINING) $(DEVELOPING)  ## the tests of training and export, with torch
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile tests/policies/training

test-lerobot: $(LEROBOT) $(DEVELOPING)  ## policies of LeRobot, imported, against LeRobot itself
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile tests/policies/export/lerobot

faults: $(DEVELOPING)  ## break the running graph in every known way, 5 times each, and kill its processes 300 times (1 hour)
	$(BIN)/python tests/faults/matrix.py --clock realtime --repeats $(REPEATS) --results $(RESUME) $(BENCH)
	$(BIN)/python tests/faults/kill.py --count $(KILLS) --results $(RESUME) $(BENCH)
	$(BIN)/python tests/faults/rearm.py --count $(REARMS) --results $(RESUME) $(BENCH)

lint: $(DEVELOPING)  ## style, formatting, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(DEVELOPING)  ## mypy, strict on what motion and its check are made of
	$(BIN)/mypy -p tendon
	MYPYPATH=benchmarks:. $(BIN)/mypy --explicit-package-bases --follow-imports=silent benchmarks recipes
	$(BIN)/mypy --strict --follow-imports=silent -p tendon.core -p tendon.robots -p tendon.control -p tendon.safety

docs: $(DOCS) $(DEVELOPING)  ## build the documentation as a site in outputs/site; a broken link or a page outside its menu fails
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=benchmarks $(BIN)/python -m mkdocs build --strict --clean
	@echo "open outputs/site/index.html: it needs no server and no network"

# Exit code 3: what it measures is not here, such as a GPU.
bench: $(DEVELOPING)  ## run benchmarks/*.py in turn, then write docs/results (BENCH=--busy beside other work)
	@failed=; for script in $$(grep -l "harness.begin" $(BENCHMARKS)); do \
	  echo "== $$script"; $(BIN)/python $$script $(BENCH) || [ $$? -eq 3 ] || failed="$$failed $$script"; \
	done; $(BIN)/python benchmarks/write_results.py; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

results: $(DEVELOPING)  ## write docs/results from the rows that benchmarks left there
	$(BIN)/python benchmarks/write_results.py

compile: $(INSTALLED)  ## compile the .pyx files anew; needs no network
	@rm -f $(BUILT)
	@$(MAKE) --no-print-directory $(BUILT)

clean:  ## remove .venv and everything a build left behind
	rm -rf $(VENV) build install log dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find tendon -name '*.so' -delete

$(BIN)/python:
	@PYTHON="$(PYTHON)" .ci/create-venv $(VENV)

$(INSTALLED): $(BIN)/python $(METADATA)
	@echo "== installing Tendon, ROS 2 for Python and the simulator into $(VENV)"
	@# What compiles stays, so that it can be done again without network.
	@$(PIP) --quiet "setuptools>=70.1,<80" "cython>=3"
	@$(PIP) --editable ".[$(RUNTIME),ros,sim,remote]" || { \
	  echo "pip failed, see above. Tendon is compiled, and where it has no wheels (not x86-64) PyBullet too: first" >&2; \
	  echo "  apt-get install g++ libc6-dev python3-dev" >&2; exit 1; }
	@touch $@ $(BUILT)

# Not what an installation has just compiled.
$(BUILT): $(COMPILED) | $(INSTALLED)
	@[ -e $@ ] && [ -z "$$(find $(COMPILED) -newer $@)" ] || { \
	  echo "== compiling what every tick computes" && $(BIN)/python setup.py --quiet build_ext --inplace && touch $@; }

$(DEVELOPING): $(INSTALLED) | $(BUILT)
	@echo "== adding what tests, lint and benchmarks need"
	@$(call add,$(RUNTIME)$(comma)dev)
	@# For tests and benchmarks only, and beside the environment: it asks for numpy below 2, which it does not need.
	@echo "== installing openpi's client into $(VENV)/openpi"
	@$(PIP) --quiet --upgrade --target $(VENV)/openpi --no-deps openpi-client==0.1.2 \
	  dm-tree==0.1.10 absl-py attrs wrapt || \
	  echo "openpi-client could not be installed: tests against it are skipped" >&2
	@touch $@

$(TRAINING): $(INSTALLED) | $(BUILT)
	@echo "== adding torch 2.13.0, for training and export"
	@$(call add,train)
	@touch $@

$(LEROBOT): $(TRAINING) requirements-lerobot.txt
	@echo "== adding LeRobot, for its exporters"
	@$(PIP) --no-deps --requirement requirements-lerobot.txt
	@touch $@

$(MUJOCO): $(INSTALLED) | $(BUILT)
	@echo "== adding MuJoCo"
	@$(call add,mujoco)
	@touch $@

$(DOCS): $(INSTALLED) | $(BUILT)
	@echo "== adding MkDocs, for the site of the documentation"
	@$(call add,docs)
	@touch $@
