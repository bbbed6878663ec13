"""LeRobot's own modules, imported beside a torch that its torchvision was not built for."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

import torch

from tendon.core.errors import MissingDependencyError

INSTALL = "make setup-lerobot"
_OPERATORS = ("nms", "qnms")
_libraries: list[Any] = []  # an operator exists as long as the library that defined it


def lerobot_module(name: str) -> ModuleType:
    """Returns LeRobot's module `lerobot.NAME`, imported offline: nothing of an import may reach for a hub.

    Raises:
        MissingDependencyError: LeRobot, or a package it needs, is not installed.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
    _import_torchvision()
    try:
        return importlib.import_module(f"lerobot.{name}")
    except ImportError as error:
        raise MissingDependencyError(f"LeRobot does not import ({error}): {INSTALL}") from error


def _import_torchvision() -> None:
    """Imports torchvision, and declares the operators that it lacks when its binary half does not load.

    The binary half of a torchvision built for CUDA needs the CUDA libraries of its torch, which a torch for CPU has
    not. torchvision then stops at the first operator it wants to describe. No policy calls these, so that their
    schemas are enough.
    """
    try:
        importlib.import_module("torchvision")
        return
    except ImportError as error:
        raise MissingDependencyError(f"LeRobot needs torchvision ({error}): {INSTALL}") from error
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    for module in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[module]
    library = torch.library.Library("torchvision", "DEF")
    for operator in _OPERATORS:
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _libraries.append(library)
    importlib.import_module("torchvision")
