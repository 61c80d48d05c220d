"""Ours against each peer: wins, ties and losses over sets, a test over sets, and tests over splits."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t, wilcoxon

from localegop.research.peers import METHODS, PEERS

from .summary import MAIN, at_main_size

TIE = 1.05  # ratios of RMSE up to this are ties
_LEVEL, _FEWEST_SPLITS, _FEWEST_SETS = 0.05, 3, 6


@dataclass(frozen=True)
class Pair:
    """Ours against one peer.

    ``ratio`` is the geometric mean over sets of its RMSE over ours, ``p`` that of Wilcoxon's signed rank
    test over sets (NaN for fewer than 6); ``certain`` are the sets where at least 3 splits make the
    difference significant, better and worse.
    """

    peer: str
    wins: int
    ties: int
    losses: int
    ratio: float
    p: float
    certain: tuple[int, int]
    worst: tuple[str, float]


def compare(records, peer):
    """Compare ours with a peer on all sets that both finished, or None if there are none."""
    logs = {name: found for name in _names(records) if len(found := _log_ratios(records, name, peer))}
    if not logs:
        return None
    means = {name: float(np.mean(list(found.values()))) for name, found in logs.items()}
    values = np.array(list(means.values()))
    signs = [_certain_sign(records, name, found) for name, found in logs.items()]
    worst = min(means, key=means.__getitem__)
    return Pair(
        peer,
        wins=int(np.sum(values > np.log(TIE))),
        ties=int(np.sum(np.abs(values) <= np.log(TIE))),
        losses=int(np.sum(values < -np.log(TIE))),
        ratio=float(np.exp(values.mean())),
        p=float(wilcoxon(values).pvalue) if len(values) >= _FEWEST_SETS and values.any() else np.nan,
        certain=(signs.count(1), signs.count(-1)),
        worst=(worst, float(np.exp(means[worst]))),
    )


def compare_all(records, peers=tuple(PEERS)):
    """Pairs for all peers that were run, the strongest first."""
    found = [pair for peer in peers if (pair := compare(records, peer)) is not None]
    return sorted(found, key=lambda pair: pair.ratio)


def _names(records):
    return list(dict.fromkeys(record["dataset"] for record in records))


def _log_ratios(records, dataset, peer):
    """Logarithm of the peer's RMSE over ours by seed, on the splits that both finished."""
    own = [r for r in at_main_size(records) if r["dataset"] == dataset and r["status"] == "ok"]
    ours, theirs = ({r["seed"]: r for r in own if r["method"] == m} for m in (MAIN, peer))
    return {
        seed: float(np.log(max(theirs[seed]["rmse"], 1e-300) / max(ours[seed]["rmse"], 1e-300)))
        for seed in sorted(ours.keys() & theirs.keys())
        if ours[seed]["n_queries"] == theirs[seed]["n_queries"]  # else they answered other queries
    }


def _certain_sign(records, dataset, logs):
    """1 or -1 where splits agree beyond chance, by the t test for splits that share rows, else 0."""
    values = np.array(list(logs.values()))
    if len(values) < _FEWEST_SPLITS:
        return 0
    own = next(r for r in at_main_size(records) if r["dataset"] == dataset and r["method"] == MAIN)
    return int(np.sign(values.mean())) if split_test(values, own["n_test"] / own["n_train"]) < _LEVEL else 0


def split_test(differences, share):
    """P value of differences over random splits, test rows ``share`` times the training rows.

    Splits share rows, so that their variance is too small by what Nadeau and Bengio (2003) add.
    """
    count = len(differences)
    error = np.sqrt(np.var(differences, ddof=1) * (1.0 / count + share))
    if error == 0.0:
        return 1.0 if np.mean(differences) == 0.0 else 0.0
    return float(2.0 * t.sf(abs(np.mean(differences)) / error, count - 1))


def rows_of(pairs):
    """Return the head and the rows of a table of pairs."""
    head = [
        "peer",
        "sets",
        "won",
        "tied",
        "lost",
        "its RMSE / ours",
        "p",
        "certain (won, lost)",
        "worst set",
    ]
    rows = [
        [
            METHODS[pair.peer].label,
            f"{pair.wins + pair.ties + pair.losses}",
            f"{pair.wins}",
            f"{pair.ties}",
            f"{pair.losses}",
            f"{pair.ratio:.3g}",
            "" if np.isnan(pair.p) else f"{pair.p:.2g}",
            f"{pair.certain[0]}, {pair.certain[1]}",
            f"{pair.worst[0]}: {pair.worst[1]:.2f}",
        ]
        for pair in pairs
    ]
    return head, rows
