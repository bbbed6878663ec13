"""Mesh files as MuJoCo reads them whole: of an OBJ file it takes the first object's triangles alone."""

from __future__ import annotations

import functools
from pathlib import Path

KEPT = ("v ", "vt ", "vn ", "f ")
"""Lines of an OBJ file that are its shape; others name objects, groups and materials."""
FOLDER = "whole"


@functools.cache
def whole(file: Path, near: Path) -> Path:
    """Returns a mesh file with one object: the file itself, or a copy in a folder near another file."""
    if file.suffix.lower() != ".obj":
        return file
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    if max(sum(line.startswith(key) for line in lines) for key in (("o ", "g "), "usemtl ")) < 2:
        return file
    copy = near.parent / FOLDER / file.name
    copy.parent.mkdir(exist_ok=True)
    part = copy.with_suffix(".part")
    part.write_text("\n".join(line for line in lines if line.startswith(KEPT)) + "\n", encoding="utf-8")
    part.rename(copy)
    return copy
