"""Reads files of a bundle so that a name cannot lead out of it, and refuses every type that could hold code."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from pathlib import Path, PurePosixPath

from tendon.core.errors import IntegrityError

MANIFEST_FILE = "bundle.yaml"
SIGNATURE_FILE = "bundle.sig"
SUFFIXES = (".onnx", ".safetensors", ".yaml", ".json", ".onnx.data")
"""Graphs, tensors, settings, tokenizers; `.onnx.data` is where torch's exporter puts a graph's weights over 2 GB."""

LARGEST_TEXT = 1 << 20
"""A manifest or signature is read before anything vouches for it, so its size is bounded [bytes]."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def inside(folder: Path, name: str) -> Path:
    """Returns the path of a listed file.

    Raises:
        IntegrityError: the name is no plain relative path, is one of the bundle's own files, or has another type
            than `SUFFIXES`.
    """
    pure = PurePosixPath(name)
    plain = bool(pure.parts) and pure.as_posix() == name and not pure.is_absolute()
    own = name in (MANIFEST_FILE, SIGNATURE_FILE)
    if not plain or ".." in pure.parts or "\\" in name or "\0" in name or own:
        raise IntegrityError(f"bundle {folder} names file {name!r}: a file must be a plain path inside the bundle")
    if not name.endswith(SUFFIXES):
        raise IntegrityError(f"bundle {folder} names file {name!r}: its type must be one of {', '.join(SUFFIXES)}")
    return folder / pure


def read_file(folder: Path, name: str) -> bytes:
    """Returns the bytes of a file the manifest lists. They are read once: what is hashed is what is used.

    A hard link is read like any file: its content must match the hash, and a later change of it changes nothing.

    Raises:
        IntegrityError: see `inside`; or it is missing, no regular file, or a symbolic link is on the way.
    """
    inside(folder, name)
    return _read(folder, name)


def read_verified(folder: Path, name: str, expected: str, changed: str) -> bytes:
    """Returns the bytes of a listed file whose SHA-256 and type are right.

    Args:
        folder: of the bundle or residual.
        name: of the file in it.
        expected: SHA-256 in hexadecimal digits.
        changed: what is said of another hash, after the path; `{found}` and `{expected}` are filled in.

    Raises:
        IntegrityError: the hash is another; or see `read_file` and `check_content`.
    """
    data = read_file(folder, name)
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise IntegrityError(f"{folder / name} {changed.format(found=found, expected=expected)}")
    check_content(folder / name, data)
    return data


def read_text_file(folder: Path, name: str) -> bytes:
    """Returns the bytes of the manifest or the signature.

    Raises:
        IntegrityError: it is missing, a link, no regular file, or larger than `LARGEST_TEXT`.
    """
    return _read(folder, name, LARGEST_TEXT)


def check_content(path: Path, data: bytes) -> None:
    """Checks that bytes whose hash is right are no program in disguise. Call it before they are parsed.

    Raises:
        IntegrityError: a pickle or a zip archive (which PyTorch unpickles), or not what the name says.
    """
    fix = "a bundle holds ONNX graphs, safetensors, YAML and JSON; export the weights again"
    if data[:1] == b"\x80" and data[1:2] <= b"\x05" and data[-1:] == b".":
        raise IntegrityError(f"{path} is a Python pickle, which could run code: {fix}")
    if data[:2] == b"PK" or (data and zipfile.is_zipfile(io.BytesIO(data))):
        raise IntegrityError(f"{path} is a zip archive, such as PyTorch writes and unpickles: {fix}")
    if path.suffix == ".safetensors":
        header = int.from_bytes(data[:8], "little")
        if len(data) < 10 or header > len(data) - 8 or data[8:9] != b"{":
            raise IntegrityError(f"{path} is not in safetensors format: {fix}")
    if path.suffix in (".yaml", ".json"):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise IntegrityError(f"{path} is not text: {error}; {fix}") from error


def _read(folder: Path, name: str, largest: int | None = None) -> bytes:
    *parents, last = PurePosixPath(name).parts
    path = folder / name
    opened = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for parent in parents:  # from one open folder to the next: a name swapped meanwhile cannot lead out
            opened.append(os.open(parent, _FOLDER, dir_fd=opened[-1]))
        opened.append(os.open(last, _FILE, dir_fd=opened[-1]))
        found = os.fstat(opened[-1])
        if not stat.S_ISREG(found.st_mode):
            raise IntegrityError(f"bundle {folder} names file {name}, but {path} is no file")
        if largest is not None and found.st_size > largest:
            raise IntegrityError(f"{path} has {found.st_size} bytes, at most {largest} are allowed")
        with os.fdopen(opened[-1], "rb", closefd=False) as file:
            return file.read()
    except OSError as error:
        for link in (path, *path.parents):
            if link == folder:
                break
            if link.is_symlink():
                raise IntegrityError(
                    f"{link} is a symbolic link: a bundle holds its files itself, copy the target here"
                ) from error
        raise IntegrityError(f"bundle {folder} names file {name}, but {path} is no file: {error.strerror}") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
