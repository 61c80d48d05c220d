"""``localegop explain``: gradients, importances and neighbors behind each prediction."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from localegop.cli.console import Console
from localegop.cli.facts import feature_names, global_importance, importance_lines
from localegop.cli.models import Queries, open_queries
from localegop.cli.parsing import add_query_options, add_report_options, at_least, new_command
from localegop.cli.problems import counted, need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop.results import LocalFits

DESCRIPTION = (
    "Explain the prediction of every row: OUT has one row for each row of TABLE, with these columns."
)
COLUMNS = {
    "value": "the prediction, by a fit at the row itself",
    "std": "standard error of value: how much it would vary with other noise in the labels",
    "noise": "standard deviation of the noise of labels nearby",
    "gradient_F": "how much the prediction rises per unit of feature F",
    "gradient_std_F": "its standard error, from fits to halves of the training rows",
    "effective_size": "effective number of training rows that contributed",
    "step": "steps of the recursion before the final fit; 0: one metric everywhere",
    "loo_error": "mean squared leave-one-out error nearby, in squared units of the label",
    "intrinsic_dimension": "effective number of directions in which the function varies nearby",
    "intrinsic_dimension_std": "its standard error",
    "remoteness": "distance to the training rows over the largest usual there; above 1: beyond the data",
    "status": "ok, few_neighbors (in exclusion_radius), flat (no slope), extrapolated (do not trust)",
    "importance_F": "share of F in the squared slope nearby, per standard deviation; the shares sum to 1",
    "importance_std_F": "its standard error",
    "neighbor_K": "row of the training table with the K-th largest weight, counted from 1 after the header",
    "weight_K": "its share of all weights",
}
EXAMPLE = """\
  localegop explain price.model new.csv -o reasons.csv
  localegop explain price.model new.parquet -o reasons.parquet --neighbors 20 --keep"""
BLOCK_BYTES = 2**27  # of metrics held at a time


def add_command(subparsers: Any) -> None:
    """Register the command."""
    parser = new_command(
        subparsers,
        "explain",
        run,
        summary="explain the predictions of the rows of a table",
        description=DESCRIPTION,
        example=EXAMPLE,
    )
    parser.description = f"{DESCRIPTION}\n\n{_column_list()}"
    add_query_options(parser)
    parser.add_argument(
        "--neighbors", type=at_least(0), default=5, metavar="K", help="training rows to list; default 5"
    )
    add_report_options(parser)


def _column_list() -> str:
    """Say what each column of the output is."""
    width = max(map(len, COLUMNS))
    lines = [f"  {name:<{width}}  {meaning}" for name, meaning in COLUMNS.items()]
    more = "With several targets, columns that belong to one have its name in the middle: gradient_u_F."
    return "\n".join([*lines, "", more])


def run(args: argparse.Namespace) -> int:
    """Localize and write the table."""
    console = Console(args)
    queries = open_queries(args, console)
    with console.timed("explain"):
        frame = _explained(queries, args.neighbors, console.progress)
    with console.timed("write"):
        queries.write(frame)
    importance = _mean_importance(queries, frame)
    statuses = _count_statuses(queries, frame)
    overall, errors = global_importance(queries.model, errors=True)
    facts = {
        **queries.facts(args),
        "columns": list(frame.columns),
        "status": statuses,
        "importance": importance,
        "global_importance": overall,
        "global_importance_std": errors,
    }
    lines = [
        ("explained", counted(len(frame), "row")),
        ("output", args.output),
        ("status", ", ".join(f"{name} {count:,}" for name, count in statuses.items())),
        *importance_lines(importance, "mean over these rows"),
        *importance_lines(overall, "mean over the training rows", errors),
    ]
    console.report(facts, lines)
    return 0


def _explained(queries: Queries, count: int, show_progress: bool) -> Any:
    """Make the table of all usable rows, block by block, under one progress bar."""
    from localegop._progress import ProgressBar

    parts = []
    queries.model.verbose = 0
    with ProgressBar("explain", show_progress) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # would be repeated for every block; see status
        for block in progress.over(_blocks(queries), len(queries.X)):
            fits = queries.model.localize(queries.X[block])
            parts.append(need("pandas").concat([fits.to_frame(), _neighbors(fits, count)], axis=1))
            queries.refuse_hidden(parts[0].columns)
    return need("pandas").concat(parts, ignore_index=True)


def _blocks(queries: Queries) -> Iterator[slice]:
    """Cut the queries so that the metrics of a block fit in memory and the progress bar moves."""
    rows, features = queries.X.shape
    fitting = BLOCK_BYTES // (8 * features**2 * len(queries.model.output_names_))
    size = max(1, min(fitting, 250 if queries.model.strategy == "field" else 10))
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _neighbors(fits: LocalFits, count: int) -> Any:
    """Columns of the heaviest training rows and their weights."""
    if fits.metric.ndim == 3:
        by_suffix = {"": fits}
    else:  # every output has its own metric and so its own neighbors
        by_suffix = {f"_{name}": fits.output(k) for k, name in enumerate(fits.output_names)}
    rows: dict[str, NDArray[np.float64]] = {}
    weights: dict[str, NDArray[np.float64]] = {}
    for suffix, one in by_suffix.items():
        index, weight = _heaviest(one, count)
        rows |= {f"neighbor{suffix}_{k + 1}": index[:, k] for k in range(count)}
        weights |= {f"weight{suffix}_{k + 1}": weight[:, k] for k in range(count)}
    pandas, labels = need("pandas"), range(len(fits))
    return pandas.concat(
        [pandas.DataFrame(rows, index=labels).astype("Int64"), pandas.DataFrame(weights, index=labels)],
        axis=1,
    )


def _heaviest(fits: LocalFits, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Row numbers, from 1, and weights of the heaviest training rows; NaN where there are fewer."""
    import numpy as np

    index, weight = np.full((len(fits), count), np.nan), np.full((len(fits), count), np.nan)
    for i in range(len(fits) if count else 0):
        neighbors = fits.neighbors(i)
        found = min(count, len(neighbors.index))
        index[i, :found] = neighbors.index[:found] + 1
        weight[i, :found] = neighbors.weight[:found]
    return index, weight


def _suffixes(queries: Queries) -> list[str]:
    """Return what follows the names of columns that belong to a metric."""
    separate = queries.model.outputs == "separate" and len(queries.model.output_names_) > 1
    return [f"_{name}" for name in queries.model.output_names_] if separate else [""]


def _mean_importance(queries: Queries, frame: Any) -> dict[str, float]:
    """Mean importance of each feature over the rows, and over targets that have separate metrics."""
    suffixes = _suffixes(queries)
    return {
        name: sum(float(frame[f"importance{suffix}_{name}"].mean()) for suffix in suffixes) / len(suffixes)
        for name in feature_names(queries.model)
    }


def _count_statuses(queries: Queries, frame: Any) -> dict[str, int]:
    """Count the fits by status."""
    return dict(
        Counter(str(s) for suffix in _suffixes(queries) for s in frame[f"status{suffix}"]).most_common()
    )
