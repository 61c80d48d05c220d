"""Distributed models as files: one for each partition, written and read by workers, and an index.

All have the format of :mod:`localegop._data.archive`: arrays and JSON with a checksum, no pickle. All
workers must be able to see the folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data import archive
from localegop._engine.settings import Settings
from localegop._predict.storage import pack_decisions, unpack_decisions
from localegop.distributed.backend import LearnedField, PartitionedModel
from localegop.distributed.cluster import Cluster
from localegop.distributed.partitions import PartitionedData, RowTransform
from localegop.distributed.sorting import PartitionedRows
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table

Array = NDArray[np.float64]

INDEX = "index.npz"
ROW, INPUT = "row", "input"  # the two tables of a file: prefixes of the names of their columns


def part_name(model: int, part: int) -> str:
    """Name of a partition's file."""
    return f"model-{model}-part-{part:05d}.npz"


def write_model(folder: Path, k: int, model: PartitionedModel) -> tuple[dict[str, Any], dict[str, Array]]:
    """Let workers write the partitions of a model; return what the index has to say about it."""
    data, field = model.data, model.field
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
    about, arrays = pack_decisions(model.decisions)
    about |= {name: data.options[name] for name in ("max_neighbors", "radius", "cutoff")}
    splits: Splits = cluster.gather([field.splits])[0]
    about["partitioned"] = {
        "tables": len(field.tables),
        "inputs": len(source.inputs),
        "boxes": field.boxes,
        "box_count": splits.count,
        "first": source.first,
        "n": source.n,
    }
    arrays |= {"axis": splits.axis, "threshold": splits.threshold, "children": splits.children}
    return about, {f"{k}_{name}": array for name, array in arrays.items()}


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
    archive.write(path, {"rows_in_all": n}, arrays)


def read_model(
    cluster: Cluster,
    folder: Path,
    k: int,
    header: dict[str, Any],
    arrays: dict[str, Array],
    settings: Settings,
    n_input: int,
) -> PartitionedModel:
    """Build a model whose partitions are read by workers."""
    about = header["partitioned"]
    decisions = unpack_decisions(header, archive.taker(arrays, f"{k}_"), settings)
    units, steps, n = decisions.units, decisions.choice.step, int(about["n"])
    outputs, dimension = len(units.label_scale), units.transform.shape[1]
    splits = _read_splits(arrays, k, int(about["box_count"]), dimension)
    tables, inputs = (
        [
            cluster.submit(_read_part, str(folder / part_name(k, part)), kind, n)
            for part in range(int(count))
        ]
        for kind, count in ((ROW, about["tables"]), (INPUT, about["inputs"]))
    )
    cluster.gather(cluster.each(_check_table, tables, outputs, dimension, steps))
    source = PartitionedRows(
        cluster,
        [],
        inputs,
        [int(first) for first in about["first"]],
        n,
        n_input,
        len(units.center),
        outputs,
        splits.count,
    )
    options = settings.data_options(units)
    options |= {name: header[name] for name in ("max_neighbors", "radius", "cutoff")}
    data = PartitionedData(source, RowTransform(units, None, np.zeros(0, dtype=np.int64)), options)
    boxes = [int(box) for box in about["boxes"]]
    field = LearnedField(cluster.submit(_identity, splits), tables, boxes, steps)
    return PartitionedModel(decisions, data, field)


def _read_splits(arrays: dict[str, Array], k: int, count: int, dimension: int) -> Splits:
    """Read the splits of a model into ``count`` boxes, and check them."""
    take, nodes = archive.taker(arrays, f"{k}_"), count - 1
    splits = Splits(
        take("axis", (nodes,)).astype(np.int64),
        take("threshold", (nodes,)),
        take("children", (nodes, 2)).astype(np.int64),
        count,
    )
    known = (splits.axis >= 0).all() and (splits.axis < dimension).all()
    archive.require(bool(known), "splits along axes that do not exist")
    return splits


def _identity(splits: Splits) -> Splits:
    return splits


def _read_part(path: str, kind: str, n: int) -> Table:
    """Read one table of a partition's file."""
    try:
        header, arrays = archive.read(path)
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
    take = archive.taker(table, "")
    m = len(take("number", ndim=1))
    for name, shape in _column_shapes(m, outputs, dimension, steps).items():
        take(name, shape)
    archive.require(bool((np.diff(table["number"]) > 0).all()), "rows out of order")


def read_index(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any], dict[str, Array]]:
    """Folder, header and arrays of a distributed model."""
    folder = Path(path)
    if not (folder / INDEX).is_file():
        raise ValueError(
            f"{str(folder)!r} is not a distributed localegop model: it has no file {INDEX}. To read a "
            "file written by LocalEGOPRegressor.save, use LocalEGOPRegressor.load"
        )
    header, arrays = archive.read(folder / INDEX)
    return folder, header, arrays
