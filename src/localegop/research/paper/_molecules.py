"""Frames of malonaldehyde as regression data, and their splits at random and by blocks of time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from localegop._arguments import check_choice
from localegop.datasets import fetch_rmd17, load_malonaldehyde, prepare_molecule
from localegop.research.paper.experiment import Refused, Skipped

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

TORSIONS = {"tau1": (4, 0, 1, 6), "tau2": (6, 1, 2, 3)}
SOURCES = {"shipped": "shipped frames", "rmd17": "revised MD17"}
_N_BLOCKS = 20


@dataclass(frozen=True)
class Molecule:
    """Features (n, 50), absolute torsions in radians by name, and the rows in the order of time."""

    X: Array
    torsions: dict[str, Array]
    in_time: Rows


def molecule(source: str) -> Molecule:
    """Return the data of a source; `Skipped` or `Refused` say what to do where there are none.

    Examples
    --------
    >>> from localegop.research.paper._molecules import molecule
    >>> data = molecule("shipped")
    >>> data.X.shape, sorted(data.torsions)
    ((6000, 50), ['tau1', 'tau2'])
    """
    check_choice("source", source, SOURCES)
    return _prepare(source, os.environ.get("LOCALEGOP_DATA"))


@lru_cache(maxsize=2)
def _prepare(source: str, folder: str | None) -> Molecule:
    """Prepare once: parts that run one after the other share the data."""
    if source == "shipped":
        frames = load_malonaldehyde()
        in_time = np.lexsort((frames.frame, frames.chain))
    else:
        frames = _revised_md17(folder)
        in_time = np.argsort(frames.frame, kind="stable")
    X, y = prepare_molecule(frames.positions, list(TORSIONS.values()))
    return Molecule(X, dict(zip(TORSIONS, y.T, strict=True)), in_time)


def _revised_md17(folder: str | None) -> Bunch:
    if not folder:
        raise Skipped(
            "revised MD17 is left out: to include it, name a folder with rmd17_malonaldehyde.npz in "
            "LOCALEGOP_DATA"
        )
    try:
        return fetch_rmd17("malonaldehyde", folder)
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from error


def split_rows(
    data: Molecule, split: str, n_train: int | None, n_test: int, seed: int
) -> tuple[Rows, Rows]:
    """Draw training and test rows.

    Parameters
    ----------
    data : Molecule
    split : {"random", "blocks"}
        "random" mixes all frames, so that most test frames have neighbors in time among the training rows.
        "blocks" cuts the trajectory into 20 blocks, holds whole blocks out and tests there.
    n_train : int or None
        Training rows; None takes all that are left.
    n_test : int
        Test rows.
    seed : int

    Returns
    -------
    train, test : ndarray of int
    """
    check_choice("split", split, ("random", "blocks"))
    rng = np.random.default_rng(seed)
    if split == "random":
        mixed = rng.permutation(len(data.X))
        test, rest = mixed[:n_test], mixed[n_test:]
    else:
        blocks = np.array_split(data.in_time, _N_BLOCKS)
        order = rng.permutation(_N_BLOCKS)
        n_held_out = 1 + int(np.argmax(np.cumsum([len(blocks[k]) for k in order]) >= n_test))
        held_out = np.concatenate([blocks[k] for k in order[:n_held_out]])
        test = rng.permutation(held_out)[:n_test]
        rest = rng.permutation(np.concatenate([blocks[k] for k in order[n_held_out:]]))
    return (rest if n_train is None else rest[:n_train]), test
