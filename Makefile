# Every target but `help` and `clean` installs what it needs first, so nothing else has to be typed.
# PYTHON picks the interpreter of the virtual environment: 3.10 to 3.14, where ROS 2 wheels exist.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
TRAINING := $(VENV)/installed-train
LEROBOT := $(VENV)/installed-lerobot
METADATA := setup.py setup.cfg pyproject.toml
REPEATS ?= 20
KILLS ?= 200

.DEFAULT_GOAL := help
.PHONY: help setup setup-train setup-lerobot demo test test-train test-lerobot faults lint types bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## install Tendon, the ROS 2 wheels and the simulator into .venv (1-3 minutes)

setup-train: $(TRAINING)  ## add torch 2.13.0, for `tendon train` and `tendon export` only

setup-lerobot: $(LEROBOT)  ## add LeRobot beside that torch, for its exporters only

demo: $(INSTALLED)  ## a simulated Panda does what it is told; leaves a video, a timeline and a summary
	$(BIN)/tendon demo

test: $(INSTALLED)  ## run every test
	$(BIN)/python -m pytest

test-train: $(TRAINING)  ## the tests of training and export, with torch
	$(BIN)/python -m pytest tests/training

test-lerobot: $(LEROBOT)  ## policies of LeRobot, imported, against LeRobot itself
	$(BIN)/python -m pytest tests/lerobot

faults: $(INSTALLED)  ## break the running graph in every known way, 20 times each; table in outputs/faults (1-2 hours)
	PYTHONPATH=tests/ros $(BIN)/python tests/faults/matrix.py --repeats $(REPEATS)
	PYTHONPATH=tests/ros $(BIN)/python tests/faults/kill.py --count $(KILLS)

lint: $(INSTALLED)  ## style, formatting, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(INSTALLED)  ## mypy, strict on tendon.core and tendon.control
	$(BIN)/mypy -p tendon
	$(BIN)/mypy --strict -p tendon.core -p tendon.control

bench: $(INSTALLED)  ## run every benchmark in turn; each also has --help
	@failed=; for script in benchmarks/[a-z]*.py; do \
	  echo "== $$script"; $(BIN)/python $$script || failed="$$failed $$script"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

clean:  ## remove .venv and everything a build left behind
	rm -rf $(VENV) build install log dist tendon.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@PYTHON="$(PYTHON)" .ci/create-venv $(VENV)

$(INSTALLED): $(BIN)/python $(METADATA)
	@$(BIN)/pip install --quiet --editable ".[ros,sim,remote,dev]" || { \
	  echo "pip failed, see above. PyBullet has wheels for x86-64 only; where it has to be built, first:" >&2; \
	  echo "  apt-get install g++ python3-dev" >&2; exit 1; }
	@# For tests and benchmarks only, and beside the environment: it asks for numpy below 2, which it does not need.
	@$(BIN)/pip install --quiet --upgrade --target $(VENV)/openpi --no-deps openpi-client==0.1.2 \
	  dm-tree==0.1.10 absl-py attrs wrapt || \
	  echo "openpi-client could not be installed: tests against it are skipped" >&2
	@touch $@

$(TRAINING): $(INSTALLED)
	$(BIN)/pip install --quiet --editable ".[train]"
	@touch $@

$(LEROBOT): $(TRAINING) requirements-lerobot.txt
	$(BIN)/pip install --quiet --no-deps --requirement requirements-lerobot.txt
	@touch $@
