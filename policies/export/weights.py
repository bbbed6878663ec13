"""Weights of a source model: safetensors only, compared with the module by name and shape before it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from tendon.core.errors import ConfigError, IntegrityError

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_FIX = "fetch or save the policy again"
_NAMED = 4

Module = TypeVar("Module", bound=nn.Module)


def tensor_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Returns the shape of every tensor of a safetensors file, from its header alone.

    Raises:
        IntegrityError: there is no such file (pickles beside it are named, never opened), or it is truncated or
            altered: its header does not add up with its size.
    """
    if not path.is_file():
        pickles = sorted(p.name for p in path.parent.glob("*") if p.suffix in PICKLES)
        hint = f"; {', '.join(pickles)} may hold code and is never opened: save as safetensors" if pickles else ""
        raise IntegrityError(f"{path} is missing{hint}")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise IntegrityError(f"{path} is truncated or no safetensors file ({error}): {_FIX}") from error


def build_with_weights(
    build: Callable[[], Module], path: Path, to_name: Callable[[str], str | None] = lambda name: name
) -> Module:
    """Returns `build()` in evaluation mode with the weights of a file; all names and shapes must agree.

    They are compared on a weightless copy first, so that a wrong file costs no memory.

    Args:
        build: makes the module; is called twice, first on torch's `meta` device.
        path: the safetensors file.
        to_name: turns a name of the file into the module's; `None` for what is no weight.

    Raises:
        ConfigError: the file lacks a weight, has one too many or one of another shape.
        IntegrityError: see `tensor_shapes`; or a weight is not finite.
    """
    shapes = tensor_shapes(path)
    names = {name: inner for name in shapes if (inner := to_name(name)) is not None}
    with torch.device("meta"):
        skeleton = build()
    check_shapes(skeleton, {inner: shapes[name] for name, inner in names.items()}, path)
    module = build()
    weights = names_of_weights(module)
    with safe_open(path, framework="pt") as file, torch.no_grad():
        for name, inner in names.items():
            tensor = file.get_tensor(name)
            if tensor.is_floating_point() and not torch.isfinite(tensor).all():
                raise IntegrityError(f"{path}: weight {name} is not finite: {_FIX}")
            weights[inner].copy_(tensor)
    return module.eval()


def check_shapes(module: nn.Module, shapes: Mapping[str, tuple[int, ...]], path: Path) -> None:
    """Compares a module's weights with a file's. A weight with several names (tied) must be there by one of them.

    Raises:
        ConfigError: the file lacks a weight, has one too many or one of another shape.
    """
    wanted = names_of_weights(module)
    present = {id(wanted[name]) for name in shapes if name in wanted}
    missing = [name for name, tensor in wanted.items() if id(tensor) not in present]
    unknown = [name for name in shapes if name not in wanted]
    other = [
        f"{name} is {list(shape)}, expected {list(wanted[name].shape)}"
        for name, shape in shapes.items()
        if name in wanted and shape != tuple(wanted[name].shape)
    ]
    for text, names in (("lacks", missing), ("has unknown", unknown), ("has wrong shapes:", other)):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            raise ConfigError(
                f"{path} {text} {', '.join(names[:_NAMED])}{more}: config.json and the weights are not of one policy"
            )


def names_of_weights(module: nn.Module) -> dict[str, torch.Tensor]:
    """Returns every parameter and saved buffer by each of its names; a tied one is the same object under several."""
    saved = set(module.state_dict().keys())
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    return {name: tensor for name, tensor in named if name in saved}
