"""Distributed models as files: one for each partition, written and read by workers, and an index.

Partitions have the rows, the index what was decided and learned. All have the format of
:mod:`localegop._data.archive`: arrays and JSON with a checksum, no pickle. All workers must be able to see
the folder.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop._data import archive
from localegop._data.archive import require
from localegop._data.schema import Entries, Fields, Number, Rule, Sequence, check_names, side
from localegop._engine.gradient_field import spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.settings import Settings
from localegop._predict.file_rules import (
    COUNT,
    MODEL,
    MOST_ROWS,
    check_anchors,
    check_arrays,
    check_decisions,
    check_file,
    check_functions,
    check_products,
    field_rules,
    link_rule,
    robustness_rules,
    row_rules,
)
from localegop._predict.storage import (
    pack_decisions,
    pack_field,
    storable,
    unpack_calibration,
    unpack_decisions,
    unpack_field,
)
from localegop.distributed.cluster import Cluster
from localegop.distributed.models import PartitionedModel
from localegop.distributed.partitions import PartitionedData, RowTransform, local_data
from localegop.distributed.sites import rows_of
from localegop.distributed.sorting import PartitionedRows
from localegop.distributed.splitting import Splits
from localegop.distributed.tables import Table, merge_sorted

Array = NDArray[np.float64]

INDEX = "index.npz"
ROW, INPUT = "row", "input"  # the two tables of a file: prefixes of the names of their columns
NUMBER = Number(0, MOST_ROWS, whole=True)
PARTITIONED: dict[str, Rule] = {
    "tables": COUNT,
    "inputs": COUNT,
    "boxes": Sequence(NUMBER),
    "box_count": COUNT,
    "first": Sequence(NUMBER),
    "n": COUNT,
}
INDEX_MODEL = MODEL | {"partitioned": Fields(PARTITIONED)}
PART = Fields({"format": COUNT, "rows_in_all": COUNT})


def part_name(model: int, part: int) -> str:
    """Name of a partition's file."""
    return f"model-{model}-part-{part:05d}.npz"


def write_model(folder: Path, k: int, model: PartitionedModel) -> tuple[dict[str, Any], dict[str, Array]]:
    """Let workers write the partitions of a model; return what the index has to say about it."""
    data = model.data
    cluster, source = data.cluster, data.source
    count = max(len(model.tables), len(source.inputs))
    jobs = []
    for part in range(count):
        table = model.tables[part] if part < len(model.tables) else None
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
    splits: Splits = cluster.gather([model.splits])[0]
    about["partitioned"] = {
        "tables": len(model.tables),
        "inputs": len(source.inputs),
        "boxes": model.boxes,
        "box_count": splits.count,
        "first": source.first,
        "n": source.n,
    }
    arrays |= {"axis": splits.axis, "threshold": splits.threshold, "children": splits.children}
    arrays |= pack_field(model.field, model.loo) | asdict(model.calibration)
    if model.robustness is not None:
        arrays["robustness"] = model.robustness
    with storable():
        _check_index(json.loads(json.dumps(about)), arrays, model.decisions.settings)
    return about, {f"{k}_{name}": array for name, array in arrays.items()}


def _table_rules(m: int, n: int, outputs: int, dimension: int) -> dict[str, Entries]:
    """Rules of the columns in the table of a partition with m of n rows."""
    number = Entries((m,), 0, n - 1, whole=True, rising=True)
    return row_rules(m, outputs, dimension) | {"number": number}


def _input_rules(m: int, n: int, n_input: int) -> dict[str, Entries]:
    """Rules of the columns that tell where m rows of the input went."""
    return {
        "input_row": Entries((m,), 0, n_input - 1, whole=True),
        "position": Entries((m,), 0, n - 1, whole=True),
        "weight_fraction": Entries((m,), 0.0, 1.0 + 1e-9),
    }


def _write_part(path: str, table: Table | None, inputs: Table | None, n: int) -> None:
    if table is not None:
        (m, dimension), outputs = table["rows"].shape, table["labels"].shape[1]
        with storable():
            check_arrays(table, _table_rules(m, n, outputs, dimension))
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
    own = {name.removeprefix(f"{k}_"): array for name, array in arrays.items() if name.startswith(f"{k}_")}
    with archive.explained(folder / INDEX):
        _check_index(header, own, settings)
        decisions = unpack_decisions(header, own, settings)
    about, units = header["partitioned"], decisions.units
    n, outputs, dimension = about["n"], len(units.label_scale), units.transform.shape[1]
    paths = [str(folder / part_name(k, part)) for part in range(max(about["tables"], about["inputs"]))]
    tables = [cluster.submit(_read_rows, path, n, outputs, dimension) for path in paths[: about["tables"]]]
    inputs = [cluster.submit(_read_inputs, path, n, n_input) for path in paths[: about["inputs"]]]
    rows, given = (cluster.gather(cluster.each(_length, each)) for each in (tables, inputs))
    with archive.explained(folder):
        complete = sum(rows) == n and sum(given) <= n_input
        require(complete, f"its partitions have {sum(rows)} rows, but should have {n}")
    axis, children = (own[name].astype(np.int64) for name in ("axis", "children"))
    splits = Splits(axis, own["threshold"], children, about["box_count"])
    source = PartitionedRows(
        cluster,
        [],
        inputs,
        about["first"],
        n,
        n_input,
        len(units.center),
        outputs,
        splits.count,
    )
    options = settings.data_options(units) | {name: header[name] for name in ("radius", "cutoff")}
    near = PartitionedData(source, RowTransform(units), options)  # with which gradients were learned
    anchors = _read_anchors(folder, tables, near, len(own["loo_noise"]))
    field, loo = unpack_field(own, decisions.choice.step, anchors, n, near.largest_size, decisions)
    data = replace(near.seeing(header["max_neighbors"]), origin=None)
    calibration = unpack_calibration(own)
    there = cluster.submit(_identity, splits)
    return PartitionedModel(
        decisions,
        data,
        there,
        tables,
        about["boxes"],
        field,
        loo,
        calibration,
        own.get("robustness"),
    )


def _read_anchors(
    folder: Path, tables: list[Future[Table]], data: PartitionedData, count: int
) -> LocalData:
    """Get the anchors, which are known by their number, from the partitions."""
    points = spread_points(data.n, count)
    found = merge_sorted(data.cluster.gather(data.cluster.each(rows_of, tables, points)))
    with archive.explained(folder):
        require(np.array_equal(found["number"], points), "its partitions have rows twice, and others not")
    return local_data(found, count, data.options)


def _check_index(header: dict[str, Any], arrays: dict[str, Array], settings: Settings) -> None:
    """Raise an error unless the index says of a model what it should."""
    Fields(INDEX_MODEL | link_rule(settings)).check("model", header)
    require(settings.strategy == "field", f"parameter 'strategy' is {settings.strategy!r}")
    about = header["partitioned"]
    boxes, first, nodes = about["boxes"], about["first"], about["box_count"] - 1
    sizes = len(boxes) == about["tables"] and len(first) == about["inputs"]
    require(sizes, "model.partitioned has lists of other lengths than the numbers of files")
    distinct = len(set(boxes)) == len(boxes) and max(boxes) <= nodes
    require(distinct, "model.partitioned.boxes has a box twice, or one that does not exist")
    rising = first[0] == 0 and all(low < high for low, high in pairwise([*first, about["n"]]))
    require(rising, "model.partitioned.first does not rise from 0 to less than the number of rows")
    rules = check_decisions(header, arrays, settings)
    rules |= {
        "axis": Entries((nodes,), 0, rules["transform"].shape[1] - 1, whole=True),
        "threshold": Entries((nodes,)),
        "children": Entries((nodes, 2), -nodes - 1, nodes - 1, whole=True),
    }
    outputs, r = rules["label_scale"].shape[0], rules["transform"].shape[1]
    rules |= field_rules(arrays, about["n"], outputs, r, header["choice"]["step"])
    check_functions(header, about["n"])
    check_anchors(header["choice"], about["n"], side(arrays, "loo_noise", 0))
    rules |= robustness_rules(about["n"], settings)
    check_arrays(arrays, rules)
    check_products(arrays)
    _check_tree(arrays["children"])


def _check_tree(children: NDArray[Any]) -> None:
    """Raise an error unless all nodes but the first, and all boxes, are the child of one earlier node."""
    nodes = len(children)
    wanted = [child for child in range(-nodes - 1, nodes) if child != 0]
    once = nodes == 0 or sorted(children.ravel().tolist()) == wanted
    later = (children < 0) | (children > np.arange(nodes)[:, None])
    require(once and bool(later.all()), "array 'children' is not a tree of splits")


def _identity(splits: Splits) -> Splits:
    return splits


def _length(table: Table) -> int:
    return len(next(iter(table.values())))


def _read_rows(path: str, n: int, outputs: int, dimension: int) -> Table:
    """Read the rows of a partition."""
    table = _read_part(path, ROW, n)
    with archive.explained(path):
        m = len(table.get("number", ()))
        check_arrays(table, _table_rules(m, n, outputs, dimension))
        require(m > 0 and bool((np.diff(table["number"]) > 0).all()), "rows out of order")
    return table


def _read_inputs(path: str, n: int, n_input: int) -> Table:
    """Read where rows of the input went."""
    table = _read_part(path, INPUT, n)
    with archive.explained(path):
        check_arrays(table, _input_rules(len(table.get("input_row", ())), n, n_input))
    return table


def _read_part(path: str, kind: str, n: int) -> Table:
    """Read one table of a partition's file."""
    try:
        header, arrays = archive.read(path)
    except FileNotFoundError:
        raise archive.FileProblem(
            f"a worker cannot find {path!r}: the folder of a distributed model must be complete, and all "
            "workers must be able to see it"
        ) from None
    with archive.explained(path):
        PART.check("header", header)
        kinds = {name.split("_")[0] for name in arrays}
        check_names("table", kinds, kinds & {ROW, INPUT})
    if header["rows_in_all"] != n:
        raise archive.FileProblem(
            f"{path!r} belongs to another model than the {INDEX} beside it: save the model again, or take "
            "all files from the same folder"
        )
    found = {name: arrays[name] for name in arrays if name.startswith(kind + "_")}
    return {name.removeprefix(kind + "_"): array for name, array in found.items()}


def read_index(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any], dict[str, Array]]:
    """Folder, header and arrays of a distributed model."""
    folder = Path(path)
    if not (folder / INDEX).is_file():
        raise ValueError(
            f"{str(folder)!r} is not a distributed localegop model: it has no file {INDEX}. To read a "
            "file written by LocalEGOPRegressor.save, use LocalEGOPRegressor.load"
        )
    header, arrays = archive.read(folder / INDEX)
    with archive.explained(folder / INDEX):
        check_file(header, arrays)
    return folder, header, arrays
