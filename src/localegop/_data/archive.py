"""Files of arrays: an npz archive with a JSON header and a checksum, no pickle.

Reading a file runs no code from it. The archive ends with a checksum of all bytes before it (as its zip
comment), so damage is noticed wherever it is. Members are not compressed and as long as they say, so a file
takes no more memory than its own size a few times.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

try:
    import fcntl
except ImportError:  # Windows, where files that are open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

Array = NDArray[np.float64]

FORMAT = 6
HEADER = "localegop_header"
CHECKSUM = 64  # hexadecimal digits of SHA-256
MOST_AXES = 3
LONGEST_PROBLEM = 300  # characters


class FileProblem(ValueError):
    """What is wrong with a file, in one line that names it."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays; the file appears when it is complete and safe on the disk.

    What a killed process has left of the same file is removed.
    """
    text = json.dumps({"format": FORMAT, **header}, allow_nan=False)
    content = io.BytesIO()
    members: dict[str, Any] = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    np.savez(content, **members)
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = b"0" * CHECKSUM
    body = content.getvalue()[:-CHECKSUM]
    target = Path(path)
    _remove_leftovers(target)
    with _partial_file(target) as (partial, file):
        file.write(body)
        file.write(hashlib.sha256(body).hexdigest().encode())
        file.flush()
        os.fsync(file.fileno())
        os.replace(partial, target)
    _sync_folder(target.parent)


@contextlib.contextmanager
def _partial_file(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Open a new file beside the target, locked, which is gone at the end unless it was renamed."""
    while True:
        partial = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.part")
        with open(partial, "xb") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                _lock(file, wait=True)
            if not partial.exists():  # another process took it for a leftover before it was locked
                continue
            try:
                yield partial, file
            finally:
                partial.unlink(missing_ok=True)
            return


def _remove_leftovers(target: Path) -> None:
    """Remove partial files of the target that no running process holds a lock on."""
    pattern = re.compile(re.escape(f".{target.name}.") + r"\d+-[0-9a-f]{16}\.part")
    for leftover in [each for each in target.parent.iterdir() if pattern.fullmatch(each.name)]:
        with contextlib.suppress(OSError), open(leftover, "rb+") as file:
            _lock(file, wait=False)
            leftover.unlink()


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock a file until it is closed; raise an OSError if another process has it and we do not wait."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder safe on the disk, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file, or a ValueError that says in one line what is wrong with it."""
    content = Path(path).read_bytes()
    if not content.startswith(b"PK\x03\x04") or HEADER.encode() not in content[:100]:
        raise FileProblem(f"{os.fspath(path)!r} is not a localegop model")
    body, checksum = content[:-CHECKSUM], content[-CHECKSUM:]
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise FileProblem(
            f"{os.fspath(path)!r} is damaged or cut short: its checksum does not fit its content; fetch or "
            "fit the model again"
        )
    with explained(path):
        arrays = _read_members(content)
        header = _read_header(arrays.pop(HEADER))
        found = header.get("format")
    if type(found) is not int or found != FORMAT:
        raise FileProblem(
            f"{os.fspath(path)!r} has format {shown(found)}, but this version of localegop reads format "
            f"{FORMAT}: install the version that wrote it, or fit the model again"
        )
    return header, arrays


@contextlib.contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what goes wrong with the content of a file into a ValueError of one line that names the file."""
    try:
        yield
    except (FileProblem, MemoryError, OSError):
        raise
    except Exception as error:
        problem = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        if len(problem) > LONGEST_PROBLEM:
            problem = problem[:LONGEST_PROBLEM] + " ..."
        raise FileProblem(
            f"{os.fspath(path)!r} is not a valid localegop model: {problem}; fetch or fit the model again"
        ) from error


def _read_members(content: bytes) -> dict[str, Array]:
    """Arrays of an archive, whose directory is checked first."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        _check_directory(members, len(content))
        return {one.filename.removesuffix(".npy"): _read_array(archive, one) for one in members}


def _check_directory(members: list[zipfile.ZipInfo], size: int) -> None:
    names = [one.filename for one in members]
    require(names[:1] == [f"{HEADER}.npy"], "its first member is not the header")
    require(len(set(names)) == len(names), "it has two members of the same name")
    for one in members:
        known = re.fullmatch(r"[A-Za-z0-9_]{1,200}\.npy", one.filename) is not None
        require(known, f"its member {shown(one.filename)} is unknown")
        stored = one.compress_type == zipfile.ZIP_STORED and not one.flag_bits & 1
        require(stored, f"its member {shown(one.filename)} is compressed or encrypted")
    sizes = [max(one.file_size, one.compress_size) for one in members]
    require(sum(sizes) <= size, "its members are larger than the file")


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """Read one array, whose own header must agree with the size of the member."""
    name, content = member.filename.removesuffix(".npy"), archive.read(member)
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    except ValueError:
        raise ValueError(f"array {name!r} does not begin as an npy file does") from None
    require(version == (1, 0), f"array {name!r} has npy version {version}, but must have (1, 0)")
    allowed = ("u1",) if name == HEADER else ("f8", "i8")
    kind = f"{dtype.kind}{dtype.itemsize}"
    require(kind in allowed, f"array {name!r} has type {dtype}, but must hold 64-bit numbers")
    counts = len(shape) <= MOST_AXES and all(type(side) is int and side >= 0 for side in shape)
    require(counts, f"array {name!r} has shape {shown(shape)}")
    size = math.prod(shape) * dtype.itemsize
    left = len(content) - stream.tell()
    require(size == left, f"array {name!r} has {left} bytes, but should have {size}")
    flat = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    return np.array(
        flat.reshape(shape, order="F" if by_columns else "C"), dtype=dtype.newbyteorder("="), order="C"
    )


def _read_header(array: Array) -> dict[str, Any]:
    """Parse the header: an object of JSON in the strict sense."""
    try:
        header = json.loads(array.tobytes(), parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"its header is not JSON ({error})") from None
    require(isinstance(header, dict), "its header is not an object")
    found: dict[str, Any] = header
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"its header holds {name}, but numbers must be finite")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "its header has two entries of the same name")
    return found


def shown(value: Any) -> str:
    """Return a value as a short text of one line, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else text[:56] + " ..."


def require(condition: bool, problem: str) -> None:
    """Raise an error about a file unless a condition holds."""
    if not condition:
        raise ValueError(problem)
