"""The methods that the paper's experiments are rerun with: three of ours side by side, and peers."""

from __future__ import annotations

from typing import Any

from localegop.regressor import LocalEGOPRegressor
from localegop.research.peers import METHODS, Method, make_method

_NAMES = ("nadaraya_watson", "local_linear", "kernel_ridge", "kernel_ridge_laplace", "boosting", "xrfm")
_LINEAR = Method(
    "field Local EGOP, linear fit",
    "as field Local EGOP, but the fit that predicts is linear, as in Algorithm 1",
    lambda rows, seed, threads: LocalEGOPRegressor(
        final="polynomial", degree=1, random_state=seed, n_jobs=threads
    ),
)

PEERS = {name: METHODS[name] for name in _NAMES}

# Algorithm 1 is the paper's. Of ours, the first differs from it in how gradients are learned and in what is
# chosen at held-out points, the second in the kind of fit as well: only the three together say what is due
# to what.
SIDE_BY_SIDE = {
    "paper_egop": "Algorithm 1",
    "local_egop_linear": _LINEAR.label,
    "local_egop": "field Local EGOP, chosen",
}
LABELS = (
    SIDE_BY_SIDE
    | {"local_egop_query": METHODS["local_egop_query"].label}
    | {name: method.label for name, method in PEERS.items()}
)


def make(name: str, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> Any:
    """Return a fresh estimator of a method of `LABELS`.

    Examples
    --------
    >>> from localegop.research.paper._methods import make
    >>> make("local_egop_linear").degree, make("paper_egop").n_iter
    (1, 150)
    """
    if name == "local_egop_linear":
        return _LINEAR.make(tuning_rows, random_state, threads)
    return make_method(name, tuning_rows=tuning_rows, random_state=random_state, threads=threads)
