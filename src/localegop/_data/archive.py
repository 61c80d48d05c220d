"""Files of arrays: an npz archive with a JSON header and a checksum, no pickle.

Reading a file runs no code from it. The archive ends with a checksum of all bytes before it (as its zip
comment), so damage is noticed wherever it is.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORMAT = 3
HEADER = "localegop_header"
CHECKSUM = 64  # hexadecimal digits of SHA-256


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays; the file appears when it is complete."""
    text = json.dumps({"format": FORMAT, **header})
    content = io.BytesIO()
    members: dict[str, Any] = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    np.savez(content, **members)
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = b"0" * CHECKSUM
    body = content.getvalue()[:-CHECKSUM]
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file, or a ValueError that says in one line what is wrong with it."""
    content = Path(path).read_bytes()
    if not content.startswith(b"PK\x03\x04") or HEADER.encode() not in content[:100]:
        raise ValueError(f"{os.fspath(path)!r} is not a localegop model")
    body, checksum = content[:-CHECKSUM], content[-CHECKSUM:]
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError(
            f"{os.fspath(path)!r} is damaged or cut short: its checksum does not fit its content; fetch or "
            "fit the model again"
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
        found = header["format"]
    except Exception as error:
        raise ValueError(f"{os.fspath(path)!r} is not a valid localegop model: {error}") from error
    if found != FORMAT:
        raise ValueError(
            f"{os.fspath(path)!r} has format {found!r}, but this version of localegop reads format "
            f"{FORMAT}: install the version that wrote it"
        )
    return header, arrays


def taker(arrays: Mapping[str, Array], prefix: str) -> Callable[..., Array]:
    """Return a function that takes arrays by name and checks their shape and content."""

    def take(name: str, shape: tuple[int, ...] | None = None, ndim: int | None = None) -> Array:
        array = arrays.get(prefix + name)
        require(array is not None, f"array {name!r} is missing")
        assert array is not None
        require(shape is None or array.shape == shape, f"array {name!r} has shape {array.shape}")
        require(ndim is None or array.ndim == ndim, f"array {name!r} has {array.ndim} axes")
        require(array.dtype.kind in "fi", f"array {name!r} holds no numbers")
        kind = np.int64 if array.dtype.kind == "i" else np.float64
        array = np.ascontiguousarray(array, dtype=kind)
        require(bool(np.isfinite(array).all()), f"array {name!r} has entries that are not finite")
        return array

    return take


def require(condition: bool, problem: str) -> None:
    """Raise an error about a file unless a condition holds."""
    if not condition:
        raise ValueError(problem)
