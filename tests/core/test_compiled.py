"""Modules that are compiled: they are what their stubs say and no arguments get beyond their arrays."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tendon.safety import cubics
from tests import ROOT
from tests.laws import law_settings

SOURCES = sorted((ROOT / "tendon").rglob("*.pyx"))


def module_of(source: Path) -> str:
    return ".".join(source.relative_to(ROOT).with_suffix("").parts)


def declared(source: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(source.with_suffix(".pyi").read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("source", SOURCES, ids=module_of)
def test_a_stub_declares_what_there_is(source: Path) -> None:
    module, stubs = importlib.import_module(module_of(source)), declared(source)
    defined = {name for name, value in vars(module).items() if callable(value) and value.__module__ == module.__name__}
    classes = [
        node for node in ast.parse(source.with_suffix(".pyi").read_text()).body if isinstance(node, ast.ClassDef)
    ]
    assert defined == {*stubs, *(each.name for each in classes)}
    for each in classes:
        public = {name for name in vars(getattr(module, each.name)) if not name.startswith("_")}
        assert public == {node.name for node in each.body if isinstance(node, ast.FunctionDef)} - {"__init__"}
    for name, stub in stubs.items():
        assert list(inspect.signature(getattr(module, name)).parameters) == [each.arg for each in stub.args.args], name


NUMBERS = st.floats(-9.0, 9.0) | st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 0.0])
COUNTS = st.integers(-3, 6)
TIMES = COUNTS | st.sampled_from([2**62, -(2**62)])
ARRAY = re.compile(r"const (double|long long|unsigned char)\[([:, ]+)\] (\w+) not None")
KINDS = {
    "double": (np.float64, NUMBERS),
    "long long": (np.int64, TIMES),
    "unsigned char": (np.uint8, st.integers(0, 1)),
}
FUNCTIONS = [(source, name) for source in SOURCES for name in declared(source) if name != "sample"]


@pytest.mark.parametrize(("source", "name"), FUNCTIONS, ids=lambda each: each if isinstance(each, str) else each.stem)
@law_settings(max_examples=40)
@given(data=st.data())
def test_no_arguments_get_beyond_their_arrays(source: Path, name: str, data: st.DataObject) -> None:
    """A wrong size or type raises; it would else be memory of something else, or the end of this process."""
    function: Callable[..., object] = getattr(importlib.import_module(module_of(source)), name)
    definition = source.read_text(encoding="utf-8").partition(f"\ndef {name}(")[2].partition('"""')[0]
    known = {argument: (KINDS[kind], layout.count(":")) for kind, layout, argument in ARRAY.findall(definition)}
    rows, columns = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 3))
    values: list[object] = []
    for parameter in declared(source)[name].args.args:
        if parameter.arg in known:
            (kind, elements), dimensions = known[parameter.arg]
            sizes = [rows, columns] if dimensions == 2 else [data.draw(st.sampled_from([rows, columns]))]
            sizes = [max(0, size + data.draw(st.sampled_from([0, 0, 0, 0, 1, -1]))) for size in sizes]
            array = data.draw(arrays(kind, sizes, elements=elements))
            values.append(data.draw(st.sampled_from([array] * 8 + [array[::-1], array.astype(np.float16), None])))
        else:
            values.append(data.draw(NUMBERS if ast.unparse(parameter.annotation) == "float" else COUNTS))  # type: ignore[arg-type]
    with contextlib.suppress(ValueError, TypeError, IndexError):
        function(*values)


def test_a_nan_is_one_whatever_the_compiler_was_asked_for() -> None:
    assert cubics.first_apart(np.array([0.0, np.nan]), np.zeros(2), np.ones(2))[0] == 1
    motion = cubics.motion_of([0, 10], np.array([[0.0], [np.nan]]), np.zeros((2, 1)))
    assert cubics.first_flaw(*motion) == (0, 1, 0)


def test_a_source_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    source = ROOT / "tendon/control/joint_limits.pyx"
    built = importlib.import_module("tendon.control.joint_limits").__file__
    assert built is not None
    shutil.copy(built, tmp_path)
    code = "import tendon.control, sys; tendon.control.__path__[:] = [sys.argv[1]]; import tendon.control.joint_limits"
    text = source.read_text(encoding="utf-8")
    for found, said in (
        (text, ""),
        (text.replace("1e-10", "1e-9"), "has changed since it was compiled: `make compile`"),
        (None, "which cannot be read: No such file"),
    ):
        copy = tmp_path / source.name
        copy.unlink() if found is None else copy.write_text(found, encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
        assert said in done.stderr and bool(said) == bool(done.returncode)
