"""What `malonaldehyde` compares: methods, the numbers of the paper, and the lines of the report."""

from __future__ import annotations

from itertools import product

import numpy as np

from localegop.research.paper._methods import LABELS, PEERS
from localegop.research.paper._molecules import SOURCES, TORSIONS
from localegop.research.paper.drawing import mean_and_error
from localegop.research.paper.experiment import Finding, Table, select_rows

METHODS = LABELS
PAPER_MSE = {"local_egop": 0.00043, "nadaraya_watson": 0.012}
PAPER_CASE = {"source": "rmd17", "split": "random", "torsion": "tau1"}


def compare(rows: Table) -> list[Finding]:
    """Compare with the two numbers of the paper, with the other methods, and between the splits."""
    paper = select_rows(rows, **PAPER_CASE)
    found = [_compare_with_paper(paper, method) for method in PAPER_MSE]
    found += [_best_of_all(rows, source) for source in SOURCES]
    found += [_blocks_are_harder(rows), _paper_settings(rows)]
    return [each for each in found if each is not None]


def mean_mse(rows: Table, **case: str) -> float:
    """Mean squared error over replicates, NaN if there is none."""
    values = select_rows(rows, **case)["mse"] if rows else ()
    return float(np.mean(values)) if len(values) else float("nan")


def _compare_with_paper(rows: Table, method: str) -> Finding | None:
    """Compare with a number of the paper: at most that of Algorithm 1, within a fifth of the other."""
    own = select_rows(rows, method=method)
    if not len(own["mse"]):
        return None
    mean, error = mean_and_error(own["mse"])
    if len(own["mse"]) == 1:
        error = float(own["error"][0])
    value = PAPER_MSE[method]
    close = mean <= value if method == "local_egop" else 0.8 * value <= mean <= 1.2 * value
    splits = "1 split" if len(own["mse"]) == 1 else f"{len(own['mse'])} splits"
    return Finding(
        f"mean squared error of {METHODS[method]}, random split, {own['n_test'][0]} test points",
        f"{value:g} rad² (10,000 frames)",
        f"{mean:.2g} ± {error:.1g} rad² (n = {own['n_train'][0]:,}, {splits}, |τ1|)",
        "yes" if close else "no",
    )


def _best_of_all(rows: Table, source: str) -> Finding | None:
    """Say in which cases field Local EGOP has the least error."""
    wins, lines = [], []
    for split, torsion in product(("random", "blocks"), TORSIONS):
        own = select_rows(rows, source=source, split=split, torsion=torsion)
        others = {name: mean_mse(own, method=name) for name in PEERS if name in own["method"]}
        ours = mean_mse(own, method="local_egop")
        if len(others) < 2 or np.isnan(ours):
            continue
        best = min(others, key=others.__getitem__)
        wins.append(ours < others[best])
        lines.append(f"{split} {torsion}: {ours:.1e} against {others[best]:.1e} ({METHODS[best]})")
    if not wins:
        return None
    return Finding(
        f"field Local EGOP has the least error, {SOURCES[source]}",
        "compared with Nadaraya-Watson only, random split",
        "; ".join(lines),
        "yes" if all(wins) else "in part" if any(wins) else "no",
    )


def _blocks_are_harder(rows: Table) -> Finding | None:
    """Compare the two splits."""
    lines, ratios = [], []
    for source in SOURCES:
        own = select_rows(rows, source=source, method="local_egop", torsion="tau1")
        random, blocks = (mean_mse(own, split=split) for split in ("random", "blocks"))
        naive = mean_mse(
            select_rows(rows, source=source, split="blocks", torsion="tau1"), method="nadaraya_watson"
        )
        if not np.isnan(random + blocks + naive):
            ratios.append(naive / blocks)
            lines.append(
                f"{SOURCES[source]}: {random:.1e} at random, {blocks:.1e} by blocks, where it is "
                f"{naive / blocks:.0f} times below Nadaraya-Watson"
            )
    if not lines:
        return None
    return Finding(
        "the advantage over Nadaraya-Watson does not come from neighbors in time",
        "random split only, 28 times below Nadaraya-Watson",
        "; ".join(lines),
        "yes" if min(ratios) >= 5.0 else "no",
    )


def _paper_settings(rows: Table) -> Finding | None:
    """Say what the paper's generic settings give, and how many queries its radius leaves alone."""
    own = select_rows(rows, method="paper_egop", torsion="tau1", split="random")
    if not len(own["mse"]):
        return None
    lines = [
        f"{SOURCES[source]}: {mse:.1e}, and {isolated} of {n_test} queries have no two training points "
        "within the exclusion radius"
        for source, mse, isolated, n_test in zip(
            own["source"], own["mse"], own["isolated"], own["n_test"], strict=True
        )
    ]
    return Finding(
        "the paper's generic settings, whose lengths are in units of the features, suit these features",
        f"{PAPER_MSE['local_egop']:g} rad²; settings for this data are not given",
        "; ".join(lines),
        "yes" if float(np.max(own["mse"])) <= PAPER_MSE["local_egop"] else "no",
    )
