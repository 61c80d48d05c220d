"""Distributed models as files: one for each partition, written and read by workers, and an index.

All have the format of :mod:`localegop._predict.storage`: arrays and JSON with a checksum, no pickle. All
workers must be able to see the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._fit.setup import Settings
from localegop._predict import storage
from localegop._predict.model import Model
from localegop.distributed.backend import LearnedField, learned_parts, with_learned_parts, without_data
from localegop.distributed.cluster import Cluster
from localegop.distributed.partitions import PartitionedData, RowTransform
from localegop.distributed.predicting import QueryContext, attach_rows
from localegop.distributed.sorting import PartitionedRows
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table

Array = NDArray[np.float64]

INDEX = "index.npz"
ROW, INPUT = "row", "input"  # the two tables of a file: prefixes of the names of their columns


def part_name(model: int, part: int) -> str:
    """Name of a partition's file."""
    return f"model-{model}-part-{part:05d}.npz"


def write_model(folder: Path, k: int, model: Model) -> tuple[dict[str, Any], dict[str, Array]]:
    """Let workers write the partitions of a model; return what the index has to say about it."""
    data, field = learned_parts(model)
    cluster, source = data.cluster, data.source
    count = max(len(field.tables), len(source.inputs))
    jobs = []
    for part in range(count):
        table = field.tables[part] if part < len(field.tables) else None
        inputs = source.inputs[part] if part < len(source.inputs) else None
        jobs.append(cluster.submit(_write_part, str(folder / part_name(k, part)), table, inputs, source.n))
    cluster.gather(jobs)
    for part in range(count):
        if not (folder / part_name(k, part)).exists():
            raise ValueError(
                f"workers wrote to {str(folder)!r}, but nothing arrived there on this machine: save to a "
                "folder that all machines share"
            )
    about, arrays = storage.pack(_with_one_row(model), f"{k}_")
    about["max_neighbors"] = data.options["max_neighbors"]
    splits: Splits = cluster.gather([field.splits])[0]
    about["partitioned"] = {
        "tables": len(field.tables),
        "inputs": len(source.inputs),
        "boxes": field.boxes,
        "box_count": splits.count,
        "first": source.first,
        "n": source.n,
    }
    tree: dict[str, NDArray[Any]] = {
        "axis": splits.axis,
        "threshold": splits.threshold,
        "children": splits.children,
    }
    return about, arrays | {f"{k}_{name}": array for name, array in tree.items()}


def _with_one_row(model: Model) -> Model:
    """Model of one row of zeros, to write everything except the rows."""
    data, field = learned_parts(model)
    shapes = _column_shapes(1, len(model.units.label_scale), data.dimension, field.steps)
    return attach_rows(QueryContext.of(model), {name: np.zeros(shape) for name, shape in shapes.items()})


def _column_shapes(m: int, outputs: int, dimension: int, steps: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the columns of numbers in the table of a partition with m rows."""
    shapes: dict[str, tuple[int, ...]] = {"rows": (m, dimension), "labels": (m, outputs)}
    shapes["sample_weight"] = (m,)
    shapes |= {f"gradients_{t}": (m, outputs, dimension) for t in range(steps)}
    shapes |= {f"errors_{t}": (m, 1) for t in range(steps)}
    shapes |= {"loo_residuals": (m, outputs), "loo_noise": (m, outputs)}
    return shapes | {"loo_gradients": (m, outputs, dimension), "score": (m, outputs)}


def _write_part(path: str, table: Table | None, inputs: Table | None, n: int) -> None:
    arrays = {f"{ROW}_{name}": column for name, column in (table or {}).items()}
    arrays |= {f"{INPUT}_{name}": column for name, column in (inputs or {}).items()}
    storage.write(path, {"rows_in_all": n}, arrays)


def read_model(
    cluster: Cluster,
    folder: Path,
    k: int,
    header: dict[str, Any],
    arrays: dict[str, Array],
    settings: Settings,
    n_input: int,
) -> Model:
    """Build a model whose partitions are read by workers."""
    about = header["partitioned"]
    empty = storage.unpack(header, arrays, f"{k}_", settings)
    outputs, dimension, n = len(empty.units.label_scale), empty.data.dimension, int(about["n"])
    splits = _read_splits(arrays, k, int(about["box_count"]), dimension)
    tables, inputs = (
        [
            cluster.submit(_read_part, str(folder / part_name(k, part)), kind, n)
            for part in range(int(count))
        ]
        for kind, count in ((ROW, about["tables"]), (INPUT, about["inputs"]))
    )
    cluster.gather(cluster.each(_check_table, tables, outputs, dimension, empty.choice.step))
    source = PartitionedRows(
        cluster,
        [],
        inputs,
        [int(first) for first in about["first"]],
        n,
        n_input,
        len(empty.units.center),
        outputs,
        splits.count,
    )
    options = {"kernel": empty.data.kernel, "max_neighbors": header["max_neighbors"]}
    options |= {name: getattr(empty.data, name) for name in ("radius", "threads", "cutoff")}
    row_transform = RowTransform(empty.units, None, np.zeros(0, dtype=np.int64))
    data = PartitionedData(source, row_transform, options)
    field = LearnedField(
        cluster.submit(_identity, splits),
        tables,
        [int(box) for box in about["boxes"]],
        empty.choice.step,
    )
    return with_learned_parts(without_data(empty), data, field)


def _read_splits(arrays: dict[str, Array], k: int, count: int, dimension: int) -> Splits:
    """Read the splits of a model into ``count`` boxes, and check them."""
    take, nodes = storage.taker(arrays, f"{k}_"), count - 1
    splits = Splits(
        take("axis", (nodes,)).astype(np.int64),
        take("threshold", (nodes,)),
        take("children", (nodes, 2)).astype(np.int64),
        count,
    )
    known = (splits.axis >= 0).all() and (splits.axis < dimension).all()
    storage.require(bool(known), "splits along axes that do not exist")
    return splits


def _identity(splits: Splits) -> Splits:
    return splits


def _read_part(path: str, kind: str, n: int) -> Table:
    """Read one table of a partition's file."""
    try:
        header, arrays = storage.read(path)
    except FileNotFoundError:
        raise ValueError(
            f"a worker cannot find {path!r}: the folder of a distributed model must be complete, and all "
            "workers must be able to see it"
        ) from None
    if header.get("rows_in_all") != n:
        raise ValueError(
            f"{path!r} belongs to another model than the {INDEX} beside it: save the model again, or take "
            "all files from the same folder"
        )
    found = {name: arrays[name] for name in arrays if name.startswith(kind + "_")}
    return {name.removeprefix(kind + "_"): array for name, array in found.items()}


def _check_table(table: Table, outputs: int, dimension: int, steps: int) -> None:
    """Raise an error unless a table has what a partition needs."""
    take = storage.taker(table, "")
    m = len(take("number", ndim=1))
    for name, shape in _column_shapes(m, outputs, dimension, steps).items():
        take(name, shape)
    storage.require(bool((np.diff(table["number"]) > 0).all()), "rows out of order")


def read_index(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any], dict[str, Array]]:
    """Folder, header and arrays of a distributed model."""
    folder = Path(path)
    if not (folder / INDEX).is_file():
        raise ValueError(
            f"{str(folder)!r} is not a distributed localegop model: it has no file {INDEX}. To read a "
            "file written by LocalEGOPRegressor.save, use LocalEGOPRegressor.load"
        )
    header, arrays = storage.read(folder / INDEX)
    return folder, header, arrays
