"""Regression methods as entries: field Local EGOP, Algorithm 1, a variant of it, and peers.

Each peer is tuned on its training rows the way its users would. To add a method, add an entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from localegop.regressor import LocalEGOPRegressor
from localegop.research.peers.blend import Blend
from localegop.research.peers.boosting import AdditiveBoosting, TunedCatBoost, TunedLightGBM
from localegop.research.peers.gaussian_process import ArdGaussianProcess
from localegop.research.peers.kernel_methods import NadarayaWatson, TunedKernelRidge
from localegop.research.peers.neighbors import MetricNeighbors, TunedNeighbors
from localegop.research.peers.networks import FAMILIES, TunedNetwork
from localegop.research.peers.per_feature import PerFeatureLocalLinear
from localegop.research.peers.processes import (
    LocalDesignProcess,
    NeighborsProcess,
    PartialLeastSquaresProcess,
    VecchiaProcess,
)
from localegop.research.peers.recursive_features import TunedRecursiveFeatureMachine
from localegop.research.peers.tabular_networks import TabularNetwork
from localegop.research.peers.trees import TunedBoosting, TunedForest


@dataclass(frozen=True)
class Method:
    """A method, for numbers or for classes.

    Parameters
    ----------
    label : str
        For tables and legends.
    tuning : str
        What is chosen, and how.
    make : callable
        (tuning_rows, random_state, threads) -> estimator.
    module, extra : str
        Optional module that it needs, and the extra of localegop that brings it; empty if there is none.
    largest_n : int or None
        Most training rows for which it is practical; given more, it is to be run on as many of them.
    most_queries : int or None
        Most test rows for which it is practical.
    intervals : bool
        Whether it has ``predict_interval`` at a cost worth paying.
    slow : bool
        Whether quick comparisons leave it out unless it is named.
    """

    label: str
    tuning: str
    make: Callable[[int, int, int], Any]
    module: str = ""
    extra: str = ""
    largest_n: int | None = None
    most_queries: int | None = None
    intervals: bool = False
    slow: bool = False

    @property
    def available(self) -> bool:
        """Whether its module is installed."""
        return not self.module or find_spec(self.module) is not None


def _local_egop(**options: Any) -> Callable[[int, int, int], Any]:
    return lambda rows, seed, threads: LocalEGOPRegressor(**options, random_state=seed, n_jobs=threads)


def _make_tuned(kind: Callable[..., Any], *arguments: Any) -> Callable[[int, int, int], Any]:
    return lambda rows, seed, threads: kind(
        *arguments, tuning_rows=rows, random_state=seed, threads=threads
    )


_NETWORK = FAMILIES["relu"].restrict(
    widths=(512,), weight_decays=(0.0, 1e-4), batch_sizes=(64,), patience=50, output_variance="1/m"
)

OURS = {
    "local_egop": Method(
        "field Local EGOP",
        "nothing by hand: units, steps, size, degree and ridge at held-out points",
        _local_egop(),
        intervals=True,
    ),
    "local_egop_query": Method(
        "query variant of Algorithm 1",
        "ridge at points left out; every query chooses its step",
        _local_egop(strategy="query"),
        largest_n=10_000,
        most_queries=100,
    ),
    "paper_egop": Method(
        "Algorithm 1",
        "none: the paper's constants",
        _local_egop(**LocalEGOPRegressor.paper_parameters()),
        largest_n=10_000,
        most_queries=30,
    ),
    "local_egop_blend": Method(
        "field Local EGOP with boosting",
        "weight of gradient boosting in five folds; both as they are by themselves",
        _make_tuned(Blend),
        largest_n=20_000,
        slow=True,
    ),
}

PEERS = {
    "neighbors": Method(
        "k nearest neighbors", "k, weights and standardization, leave-one-out", _make_tuned(TunedNeighbors)
    ),
    "nadaraya_watson": Method(
        "Nadaraya-Watson",
        "one Gaussian bandwidth, leave-one-out",
        _make_tuned(NadarayaWatson),
        largest_n=20_000,
    ),
    "local_linear": Method(
        "local linear, isotropic",
        "effective neighborhood size and ridge, leave-one-out (field Local EGOP without its recursion)",
        _local_egop(n_iter=0, degree=1),
    ),
    "kernel_reg": Method(
        "statsmodels KernelReg",
        "one bandwidth per feature, local linear, cv_ls on at most 100 rows",
        lambda rows, seed, threads: PerFeatureLocalLinear(tuning_rows=rows, random_state=seed),
        module="statsmodels",
        extra="bench",
        largest_n=500,
    ),
    "mlkr": Method(
        "MLKR + k-NN",
        "dimension of the map on a fifth set aside, at most 100 steps, then k as for k-NN",
        _make_tuned(MetricNeighbors),
        module="metric_learn",
        extra="bench",
        largest_n=1000,
    ),
    "kernel_ridge": Method(
        "kernel ridge, Gaussian",
        "length and ridge, leave-one-out",
        _make_tuned(TunedKernelRidge, "rbf"),
        largest_n=12_000,
    ),
    "kernel_ridge_laplace": Method(
        "kernel ridge, Laplace",
        "length and ridge, leave-one-out",
        _make_tuned(TunedKernelRidge, "laplace"),
        largest_n=12_000,
    ),
    "gaussian_process": Method(
        "Gaussian process, ARD",
        "a length per feature, noise and scale, marginal likelihood, two starts",
        _make_tuned(ArdGaussianProcess),
        largest_n=1000,
        intervals=True,
    ),
    "forest": Method(
        "random forest",
        "features per split and leaf size, out-of-bag, 500 trees",
        _make_tuned(TunedForest),
        largest_n=20_000,
    ),
    "boosting": Method(
        "gradient boosting",
        "rate, leaves and leaf size on a fifth set aside, early stopping",
        _make_tuned(TunedBoosting),
    ),
    "lightgbm": Method(
        "LightGBM",
        "leaves and leaf size on a fifth set aside, early stopping, then all rows",
        _make_tuned(TunedLightGBM),
        module="lightgbm",
        extra="bench",
    ),
    "lightgbm_linear": Method(
        "LightGBM, linear trees",
        "leaves, leaf size and ridge of the leaves on a fifth set aside, early stopping, then all rows",
        _make_tuned(partial(TunedLightGBM, linear=True)),
        module="lightgbm",
        extra="bench",
    ),
    "catboost": Method(
        "CatBoost",
        "depth and ridge of the leaves on a fifth set aside, early stopping, then all rows",
        _make_tuned(TunedCatBoost),
        module="catboost",
        extra="bench",
    ),
    "ebm": Method(
        "explainable boosting machine",
        "its defaults: functions of one and two features, 14 bags, early stopping",
        lambda rows, seed, threads: AdditiveBoosting(random_state=seed, threads=threads),
        module="interpret",
        extra="bench",
        largest_n=10_000,
        slow=True,
    ),
    "vecchia": Method(
        "GPBoost, Vecchia process",
        "a length per feature, noise, scale and Matern 3/2 or 5/2, likelihood",
        _make_tuned(VecchiaProcess),
        module="gpboost",
        extra="bench",
        intervals=True,
    ),
    "muygps": Method(
        "MuyGPyS",
        "kriging of 50 neighbors: a length per feature and noise by leave-one-out likelihood, Matern 3/2 "
        "or 5/2 on a fifth set aside",
        _make_tuned(NeighborsProcess),
        module="MuyGPyS",
        extra="bench",
        intervals=True,
        slow=True,
    ),
    "lagp": Method(
        "laGPy",
        "units by an ARD process of 500 rows, nugget at 40 rows set aside, a length per query",
        _make_tuned(LocalDesignProcess),
        module="laGPy",
        extra="bench",
        most_queries=300,
        intervals=True,
        slow=True,
    ),
    "kpls": Method(
        "SMT, KPLS",
        "directions (at most 4) on a fifth set aside; lengths and noise by likelihood",
        _make_tuned(PartialLeastSquaresProcess),
        module="smt",
        extra="bench",
        largest_n=1000,
        intervals=True,
    ),
    "xrfm": Method(
        "xRFM",
        "bandwidth, ridge and iteration on a fifth set aside",
        _make_tuned(TunedRecursiveFeatureMachine),
        module="xrfm",
        extra="paper",
        largest_n=20_000,
    ),
    "xrfm_wide": Method(
        "xRFM, authors' space",
        "kernel, exponent, norm, bandwidth, ridge, diagonal or full matrix and iteration: 30 random draws "
        "from the authors' space on a fifth set aside",
        lambda rows, seed, threads: TunedRecursiveFeatureMachine(
            draws=30, tuning_rows=rows, random_state=seed, threads=threads
        ),
        module="xrfm",
        extra="paper",
        largest_n=20_000,
        slow=True,
    ),
    "network": Method(
        "two-layer network",
        "learning rate and weight decay on a fifth set aside, width 512, early stopping",
        lambda rows, seed, threads: TunedNetwork(
            _NETWORK, max_epochs=500, random_state=seed, threads=threads
        ),
        module="torch",
        extra="paper",
        largest_n=20_000,
    ),
    "realmlp": Method(
        "RealMLP",
        "its authors' settings for tables; mean of five networks, each stopped on another fifth",
        lambda rows, seed, threads: TabularNetwork(
            "RealMLP_TD_Regressor", folds=5, random_state=seed, threads=threads
        ),
        module="pytabkit",
        extra="bench",
        largest_n=20_000,
        slow=True,
    ),
    "tabm": Method(
        "TabM",
        "its authors' settings for tables, stopped on a fifth",
        lambda rows, seed, threads: TabularNetwork("TabM_D_Regressor", random_state=seed, threads=threads),
        module="pytabkit",
        extra="bench",
        largest_n=10_000,
        slow=True,
    ),
}

METHODS = OURS | PEERS


def make_method(name: str, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> Any:
    """Return a fresh estimator of this method.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    tuning_rows : int, default=2000
        Most rows, drawn at random from the training rows, on which it is tuned; the final fit takes all.
    random_state : int, default=0
        Seed of everything random.
    threads : int, default=1
        Threads to use.

    Examples
    --------
    >>> from localegop.datasets import make_helix
    >>> from localegop.research.peers import make_method
    >>> X, y = make_helix(300, 3, random_state=0)
    >>> model = make_method("nadaraya_watson").fit(X[:250], y[:250])
    >>> model.predict(X[250:]).shape
    (50,)
    """
    if name not in METHODS:
        raise ValueError(f"no method is called {name!r}; there are {', '.join(METHODS)}")
    method = METHODS[name]
    if not method.available:
        raise ImportError(f"{method.label} needs {method.module}: pip install 'localegop[{method.extra}]'")
    return method.make(tuning_rows, random_state, threads)
