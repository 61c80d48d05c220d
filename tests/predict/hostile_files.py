"""A seeded fuzzer of model files: altered headers, arrays and archives, with checksums that fit again.

``examine`` reads altered files in a process of its own, with limits of memory and time, and goes on after
one that ends the process. Run as a script it counts outcomes:

    python tests/predict/hostile_files.py 5000
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from localegop import LocalEGOPRegressor
from localegop._data import archive
from localegop.schedules import PowerLaw

SECONDS = 10  # for one file: loading it and predicting two rows
BYTES = 600 * 2**20  # of memory beyond what the process has before the first file
LONGEST = 500  # characters of a clear line
QUERIES = np.array([[0.2, 0.1, -0.3], [0.9, -0.4, 0.6]])

VALUES: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 70, 1000, 10**6, 10**9, 2**31, 2**63, 10**30),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -1.0, -0.5, 1e-12, 1e-300, 5e-324, 1e12, 1e300, 1.7e308),
    *(float("nan"), float("inf"), float("-inf"), True, False, None),
    *(
        "",
        "x",
        "auto",
        "gaussian",
        "field",
        "query",
        "kriging",
        "global",
        "polynomial",
        "identity",
        "1",
        "a\nb",
    ),
    *([], [1.0], [[1.0]], [None], ["x"], [1.0, -1.0, 2.0], {}, {"schedule": "PowerLaw"}),
    *({"schedule": "Geometric", "scale": 1e-300, "ratio": 0.5}, {"schedule": "PowerLaw", "exponent": 1e9}),
    *({"kind": "kriging", "length": 1e-300, "ridge": 0.0}, {"kind": "polynomial"}),
    *({"kind": "global", "length": 1e-6, "ridge": 1e-15, "rough": True}, {"kind": "global"}),
]
ENTRIES = [
    *(0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e300, -1e300, 1e150, 1e20, 1e6),
    np.nan,
    np.inf,
    -np.inf,
]
DTYPES = ["<f4", ">f8", "<f2", "<i8", "<i4", "|i1", "<u8", "|b1", "<c16", "<U8", "|S4", "|O", "<M8[s]"]


@dataclass
class Parts:
    """What a file is made of, before it is sealed."""

    header: Any
    arrays: dict[str, Any]
    text: bytes | None = None  # in place of the header, as bytes
    members: dict[str, bytes] = field(default_factory=dict)  # in place of arrays, or beside them
    compressed: set[str] = field(default_factory=set)
    repeated: list[str] = field(default_factory=list)


def save_examples(folder: Path) -> list[Path]:
    """Fit and save small models of all kinds."""
    random_state = np.random.RandomState(0)
    X = random_state.uniform(-1.0, 1.0, (60, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.05 * random_state.normal(size=60)
    both = np.column_stack([y, X[:, 2] ** 2])
    query = {"strategy": "query", "n_iter": 2, "n_subsamples": 20}
    examples: dict[str, tuple[dict[str, Any], Any]] = {
        "polynomial": ({"final": "polynomial", "n_iter": 2, "max_neighbors": 40}, y),
        "kriging": ({"final": "kriging", "n_iter": 1}, y),
        "global": ({"final": "global", "n_iter": 1}, y),
        "mixture": ({}, y + 0.3 * random_state.normal(size=60)),
        "jagged": ({"final": "global"}, np.sign(X[:, 0]) + np.floor(3.0 * X[:, 1])),
        "huber": ({"final": "polynomial", "n_iter": 1, "loss": "huber"}, y),
        "query": (query, y),
        "bandwidths": (
            query | {"schedule": PowerLaw(0.5), "exclusion_radius": 2.0, "covariance_cap": 9.0},
            y,
        ),
        "two outputs": ({"n_iter": 1, "initial_metric": np.eye(3), "kernel": "student"}, both),
        "separate outputs": ({"n_iter": 1, "outputs": "separate", "degree": 2}, both),
    }
    paths = []
    for name, (parameters, labels) in examples.items():
        paths.append(folder / f"{name}.npz")
        model = LocalEGOPRegressor(**parameters, n_jobs=1).fit(X, labels)
        if name == "bandwidths":
            model.predict_interval(QUERIES)  # so that the file has a calibration
        model.save(paths[-1])
    return paths


def sealed(parts: Parts) -> bytes:
    """Return the bytes of a file, with a checksum that fits."""
    text = json.dumps(parts.header).encode() if parts.text is None else parts.text
    members = {archive.HEADER: _npy(np.frombuffer(text, dtype=np.uint8))}
    members |= {name: _npy(array) for name, array in parts.arrays.items()} | parts.members
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as file:
        warnings.simplefilter("ignore")  # repeated names
        for name in [*members, *(name for name in parts.repeated if name in members)]:
            kind = zipfile.ZIP_DEFLATED if name in parts.compressed else zipfile.ZIP_STORED
            file.writestr(f"{name}.npy", members[name], compress_type=kind)
        file.comment = b"0" * archive.CHECKSUM
    body = content.getvalue()[: -archive.CHECKSUM]
    return body + hashlib.sha256(body).hexdigest().encode()


def _npy(array: Any) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=True)
    return content.getvalue()


def altered(path: Path, seed: int) -> bytes:
    """Return a saved model with one to three changes, which depend on the seed alone."""
    chance = random.Random(seed)
    parts = Parts(*archive.read(path))
    parts.arrays = {name: np.array(array) for name, array in parts.arrays.items()}
    kinds: list[Callable[[random.Random, Parts], None]] = [change_value] * 6
    kinds += [change_entries] * 4 + [change_keys, change_keys, change_shape, change_dtype, change_member]
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        chance.choice(kinds)(chance, parts)
    return sealed(parts)


def _places(value: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """All (container, key) of a header."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    return found + [place for key in keys if depth < 9 for place in _places(value[key], depth + 1)]


def change_value(chance: random.Random, parts: Parts) -> None:
    """Put another value into the header."""
    places = _places(parts.header)
    if not places:
        return
    holder, key = chance.choice(places)
    old = holder[key]
    if isinstance(old, int | float) and chance.random() < 0.4:
        holder[key] = chance.choice([old + 1, old - 1, -old, old * 10, old * 1e9, float(old), old * 1e-9])
    else:
        holder[key] = json.loads(json.dumps(chance.choice(VALUES)))


def change_keys(chance: random.Random, parts: Parts) -> None:
    """Leave out an entry of the header, add one, or spoil its text."""
    places = [place for place in _places(parts.header) if isinstance(place[0], dict)]
    if not places:
        return
    holder, key = chance.choice(places)
    what = chance.randrange(4)
    if what == 0:
        del holder[key]
    elif what == 1:
        holder[chance.choice(["surprise", "n_jobs", "verbose", "client", "__class__", "steps"])] = holder[
            key
        ]
    elif what == 2:
        holder[f"{key}_"] = holder.pop(key)
    else:
        text = json.dumps(parts.header)
        first = next(iter(parts.header), "format") if isinstance(parts.header, dict) else "format"
        texts = [
            text[:-1],
            text[1:],
            f"[{text}]",
            "",
            "null",
            "[" * 50_000,
            text.replace(":", ": 1e999, ", 1),
        ]
        texts += [
            text[:-1] + f', "{first}": 1}}',
            text + " ",
            text.replace('"', "'"),
            '{"format": 5}',
            "\xff\xfe",
        ]
        parts.text = chance.choice(texts).encode("latin-1", "replace")


def change_entries(chance: random.Random, parts: Parts) -> None:
    """Change one entry of an array, some of them, or all."""
    if not parts.arrays:
        return
    name = chance.choice(sorted(parts.arrays))
    array = parts.arrays[name]
    if array.size == 0 or array.ndim == 0 or array.dtype.kind not in "fi":
        return
    flat = array.reshape(-1)
    value = chance.choice(ENTRIES)
    if array.dtype.kind == "i":
        value = chance.choice([0, -1, -2, 1, 59, 60, 10**6, 2**62, -(2**62)])
    what = chance.randrange(6)
    with np.errstate(all="ignore"):
        if what <= 1:
            flat[chance.randrange(array.size)] = value
        elif what == 2:
            flat[:] = value
        elif what == 3:
            flat[:: chance.randrange(1, 5)] *= array.dtype.type(chance.choice([-1, 0, 2, 10**6]))
        elif what == 4:
            parts.arrays[name] = np.ascontiguousarray(array[::-1])
        else:
            np.random.RandomState(chance.randrange(2**31)).shuffle(flat)


def change_shape(chance: random.Random, parts: Parts) -> None:
    """Give an array another shape."""
    if not parts.arrays:
        return
    name = chance.choice(sorted(parts.arrays))
    array = parts.arrays[name]
    shapes: list[Callable[[], Any]] = [
        lambda: array.T,
        lambda: array[:-1],
        lambda: array[..., :-1],
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.reshape(-1),
        lambda: array[:0],
        lambda: np.concatenate([array, array]),
        lambda: np.zeros(()),
        lambda: np.zeros((0, 3)),
    ]
    parts.arrays[name] = chance.choice(shapes)() if array.ndim else np.zeros(3)


def change_dtype(chance: random.Random, parts: Parts) -> None:
    """Give an array another type, or Fortran's order."""
    if not parts.arrays:
        return
    name = chance.choice(sorted(parts.arrays))
    kind = chance.choice([*DTYPES, "F"])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if kind == "F":
            parts.arrays[name] = np.asfortranarray(parts.arrays[name])
        elif kind == "<M8[s]":
            parts.arrays[name] = parts.arrays[name].astype("<i8").astype(kind)
        else:
            parts.arrays[name] = parts.arrays[name].astype(kind)


def change_member(chance: random.Random, parts: Parts) -> None:
    """Leave out, add, rename, exchange, repeat or compress members, or lie about their size."""
    names = sorted(parts.arrays)
    if len(names) < 2:
        return
    name, other = chance.sample(names, 2)
    what = chance.randrange(10)
    if what == 0:
        del parts.arrays[name]
    elif what == 1:
        parts.arrays[chance.choice(["surprise", "../up", "0_", "2_rows", "/etc/x", "0_gradients_7"])] = (
            np.ones(2)
        )
    elif what == 2:
        parts.arrays[f"{name}x"] = parts.arrays.pop(name)
    elif what == 3:
        parts.arrays[name], parts.arrays[other] = parts.arrays[other], parts.arrays[name]
    elif what == 4:
        parts.repeated.append(chance.choice([name, archive.HEADER]))
    elif what == 5:
        parts.compressed.add(chance.choice([name, archive.HEADER]))
    elif what == 6:  # a small file that would become large
        parts.members[name] = _npy(np.zeros(2**22))
        parts.compressed.add(name)
    elif what == 7:  # a header of an array that promises more, or less, than there is
        shape = chance.choice(
            ["(1000000000000,)", "(-1, 3)", "(3,)", "(10000000000, 3)", "(True,)", "x" * 99]
        )
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        parts.members[name] = (
            b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 64
        )
    elif what == 8:
        content = _npy(parts.arrays[name])
        parts.members[name] = chance.choice(
            [content[:-8], content + b"\0" * 8, content[:40], b"", b"x" * 200]
        )
    else:
        count = chance.choice([1, 2, 10])
        parts.arrays |= {key.replace("0_", f"{count}_", 1): value for key, value in parts.arrays.items()}


def outcome(path: Path) -> str:
    """ "error" or "predictions", or in other words what went wrong."""
    try:
        model = LocalEGOPRegressor.load(path)
    except ValueError as error:
        return _judge_error(str(error), path)
    except BaseException as error:
        return f"failure: {type(error).__name__} at load: {error}"
    model.n_jobs = 1
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers = (*model.predict(QUERIES, return_std=True), model.predict_interval(QUERIES, 0.5))
            importance = model.global_importance() if model.strategy == "field" else np.zeros(1)
            repr((model, model.choice_, model.initial_metric_))
    except BaseException as error:
        return f"failure: {type(error).__name__} at predict: {error}"
    if not all(np.isfinite(answer).all() for answer in (*answers[:2], importance)):
        return "failure: predictions, standard errors or importance that are not finite"
    if np.isnan(answers[2]).any():
        return "failure: intervals that are not numbers"
    return "predictions"


def _judge_error(text: str, path: Path) -> str:
    if "\n" in text or len(text) > LONGEST:
        return f"failure: not one short line: {text}"
    if str(path) not in text:
        return f"failure: names no file: {text}"
    advice = (
        "fetch or fit the model again",
        "is not a localegop model",
        "install the version that wrote it, or fit the model again",
    )
    return "error" if text.endswith(advice) else f"failure: does not say what to do: {text}"


def examine(folder: Path, first: int, count: int) -> Counter[str]:
    """Count the outcomes of altered files by seed; each failure has an entry of its own."""
    found: Counter[str] = Counter()
    seed, last = first, first + count
    while seed < last:
        run = subprocess.run(
            [sys.executable, __file__, "--child", str(folder), str(seed), str(last)],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = run.stdout.splitlines()
        for line in lines:
            found[line if line.startswith("failure") else line.split(" ")[0]] += 1
        seed += len(lines)
        if run.returncode != 0 or not lines:
            reason = run.stderr.strip().splitlines()[-1:]
            found[f"failure: process ended with {run.returncode} {reason} [{seed}]"] += 1
            seed += 1
    return found


def _child(folder: Path, first: int, last: int) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process, whatever it does
    examples = sorted(folder.glob("*.npz"))
    LocalEGOPRegressor.load(examples[0]).predict(QUERIES)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "altered.npz"
        for seed in range(first, last):
            target.write_bytes(altered(examples[seed % len(examples)], seed))
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            found = " ".join(outcome(target).split())
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(f"{found} [{seed}]", flush=True)


def _main() -> None:
    if sys.argv[1] == "--child":
        _child(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        return
    with tempfile.TemporaryDirectory() as folder:
        save_examples(Path(folder))
        found = examine(Path(folder), 0, int(sys.argv[1]))
    for line, count in sorted(found.items()):
        if line.startswith("failure"):
            print(line[:240])
        else:
            print(f"{count} files gave {line}")
    print(f"{sum(count for line, count in found.items() if line.startswith('failure'))} failures")


if __name__ == "__main__":
    _main()
