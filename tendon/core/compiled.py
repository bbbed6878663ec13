"""Functions of numbers and arrays, compiled by Numba when they are imported: never while a robot moves.

A call of NumPy takes a microsecond, and three where the processor has done something else meanwhile, however few
numbers it is about; a tick has hundreds (ADR 42). Results are kept beside the source, or in the user's cache folder
where that cannot be written: the first import on a machine takes seconds, each later one a part of one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit, types

Function = TypeVar("Function", bound=Callable[..., object])

NUMBER = types.float64
COUNT = types.int64
ROW = types.Array(types.float64, 1, "C", readonly=True)
"""(n,) float64, contiguous."""
ROWS = types.Array(types.float64, 2, "C", readonly=True)
"""(k, n) float64, contiguous."""
FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
"""(n,) bool, contiguous."""
COUNTS = types.Array(types.int64, 1, "C", readonly=True)
"""(n,) int64, contiguous."""


def compiled(*arguments: types.Type) -> Callable[[Function], Function]:
    """Returns a decorator that compiles a function for these arguments; it takes no others.

    Division by zero follows IEEE 754, as NumPy's does, and no operation is reordered. What the function uses of its
    module has to be defined there too: a result is kept until its own file changes, whatever happens to another.
    """

    def compile_now(function: Function) -> Function:
        ready = None
        try:
            ready = njit(cache=True, error_model="numpy")(function)
            ready.compile(arguments)
        # No folder or space to keep it, or what is kept is damaged, as by a power cut: reading that can raise anything.
        except Exception:
            if ready is not None:
                with contextlib.suppress(Exception):
                    ready.recompile()  # forgets what is kept, so that the next start keeps it anew
            ready = njit(error_model="numpy")(function)
            ready.compile(arguments)
        ready.disable_compile()
        return cast(Function, ready)

    return compile_now
