"""Distributed models as files: one for each partition, written and read by workers, and an index.

All are of the format of :mod:`localegop._predict.storage`: arrays and JSON with a checksum, no pickle.
The folder has to be one that all workers see.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._fit.setup import Settings
from localegop._predict import storage
from localegop._predict.model import Model
from localegop.distributed.backend import LearnedField, bare
from localegop.distributed.cluster import Cluster
from localegop.distributed.partitions import Frame, SpreadData
from localegop.distributed.predicting import Head, placed_model
from localegop.distributed.sorting import SpreadRows
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table

Array = NDArray[np.float64]

INDEX = "index.npz"


def part_name(model: int, part: int) -> str:
    """Name of a partition's file."""
    return f"model-{model}-part-{part:05d}.npz"


def write_model(folder: Path, k: int, model: Model) -> tuple[dict[str, Any], dict[str, Array]]:
    """Let workers write the partitions of a model; return what the index has to hold of it."""
    data, field = model.data, model.field
    assert isinstance(data, SpreadData) and isinstance(field, LearnedField)
    cluster, source = data.cluster, data.source
    count = max(len(field.tables), len(source.given))
    jobs = []
    for part in range(count):
        table = field.tables[part] if part < len(field.tables) else None
        given = source.given[part] if part < len(source.given) else None
        jobs.append(cluster.submit(_write_part, str(folder / part_name(k, part)), table, given, source.n))
    cluster.gather(jobs)
    for part in range(count):
        if not (folder / part_name(k, part)).exists():
            raise ValueError(
                f"workers wrote to {str(folder)!r}, but it is empty here: save to a shared folder"
            )
    about, arrays = storage.pack(_with_one_row(model), f"{k}_")
    about["max_neighbors"] = data.options["max_neighbors"]
    splits = cluster.gather([field.splits])[0]
    about["spread"] = {
        "parts": [len(field.tables), len(source.given)],
        "boxes": field.numbers,
        "box_count": splits.count,
        "first": source.first,
        "n": source.n,
    }
    more = {name: getattr(splits, name) for name in ("axis", "threshold", "children")}
    return about, arrays | {f"{k}_{name}": array for name, array in more.items()}


def _with_one_row(model: Model) -> Model:
    """Model of one row of zeros, for what else there is to write."""
    data, field = model.data, model.field
    assert isinstance(data, SpreadData) and isinstance(field, LearnedField)
    outputs, dimension = len(model.units.label_scale), data.dimension
    shapes: dict[str, tuple[int, ...]] = {"rows": (dimension,), "labels": (outputs,), "share": ()}
    shapes |= {f"gradients_{t}": (outputs, dimension) for t in range(field.steps)}
    shapes |= {f"errors_{t}": (1,) for t in range(field.steps)}
    shapes |= {"after_residuals": (outputs,), "after_noise": (outputs,)}
    shapes["after_gradients"] = (outputs, dimension)
    head = Head(bare(model), data.options, data.n, tuple(field.numbers))
    return placed_model(head, {name: np.zeros((1, *shape)) for name, shape in shapes.items()})


def _write_part(path: str, table: Table | None, given: Table | None, n: int) -> None:
    arrays = {f"row_{name}": column for name, column in (table or {}).items()}
    arrays |= {f"given_{name}": column for name, column in (given or {}).items()}
    storage.write(path, {"rows_in_all": n}, arrays)


def read_model(
    cluster: Cluster,
    folder: Path,
    k: int,
    header: dict[str, Any],
    arrays: dict[str, Array],
    settings: Settings,
    n_given: int,
) -> Model:
    """Build a model whose partitions workers read when they are needed."""
    about = header["spread"]
    empty = storage.unpack(header, arrays, f"{k}_", settings)
    take = storage.taker(arrays, f"{k}_")
    outputs, dimension, n = len(empty.units.label_scale), empty.data.dimension, int(about["n"])
    nodes = int(about["box_count"]) - 1
    splits = Splits(
        take("axis", (nodes,)).astype(np.int64),
        take("threshold", (nodes,)),
        take("children", (nodes, 2)).astype(np.int64),
        nodes + 1,
    )
    storage.require(
        bool((splits.axis >= 0).all() and (splits.axis < dimension).all()), "splits along unknown axes"
    )
    tables, given = (
        [
            cluster.submit(_read_part, str(folder / part_name(k, part)), kind, n)
            for part in range(int(count))
        ]
        for kind, count in zip(("row", "given"), about["parts"], strict=True)
    )
    shapes = (outputs, dimension, empty.choice.step)
    cluster.gather(cluster.each(_check_table, tables, *shapes))
    source = SpreadRows(
        cluster,
        [],
        given,
        [int(first) for first in about["first"]],
        n,
        n_given,
        len(empty.units.center),
        outputs,
        nodes + 1,
    )
    options = {"kernel": empty.data.kernel, "max_neighbors": header["max_neighbors"]}
    options |= {name: getattr(empty.data, name) for name in ("radius", "threads", "cutoff")}
    data = SpreadData(source, Frame(empty.units, None, np.zeros(0, dtype=np.int64)), options)
    field = LearnedField(
        cluster.submit(_kept, splits),
        tables,
        [int(box) for box in about["boxes"]],
        empty.choice.step,
    )
    return replace(bare(empty), data=data, field=field)  # type: ignore[arg-type]


def _kept(value: Any) -> Any:
    return value


def _read_part(path: str, kind: str, n: int) -> Table:
    """Read one table of a partition's file."""
    try:
        header, arrays = storage.read(path)
    except FileNotFoundError:
        raise ValueError(
            f"{path!r} is missing where a worker looks for it: the folder of a distributed model must be "
            "complete, and seen by all workers"
        ) from None
    if header.get("rows_in_all") != n:
        raise ValueError(f"{path!r} belongs to another model than the index beside it")
    found = {name: arrays[name] for name in arrays if name.startswith(kind + "_")}
    return {name.removeprefix(kind + "_"): array for name, array in found.items()}


def _check_table(table: Table, outputs: int, dimension: int, steps: int) -> None:
    """Raise an error unless a table has what a partition needs."""
    take = storage.taker(table, "")
    m = len(take("number", ndim=1))
    shapes: dict[str, tuple[int, ...]] = {"rows": (m, dimension), "labels": (m, outputs), "share": (m,)}
    shapes |= {f"gradients_{t}": (m, outputs, dimension) for t in range(steps)}
    shapes |= {f"errors_{t}": (m, 1) for t in range(steps)}
    shapes |= {"after_residuals": (m, outputs), "after_noise": (m, outputs)}
    shapes |= {"after_gradients": (m, outputs, dimension), "score": (m, outputs)}
    for name, shape in shapes.items():
        take(name, shape)
    storage.require(bool((np.diff(table["number"]) > 0).all()), "rows out of order")


def read_index(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any], dict[str, Array]]:
    """Folder, header and arrays of a distributed model."""
    folder = Path(path)
    if not (folder / INDEX).is_file():
        raise ValueError(
            f"{str(folder)!r} is not a distributed localegop model: it has no file {INDEX}; files of "
            "LocalEGOPRegressor are read by LocalEGOPRegressor.load"
        )
    header, arrays = storage.read(folder / INDEX)
    return folder, header, arrays
