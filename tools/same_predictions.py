"""Fits whose every number is recorded, to see whether a change of the code changed any of them.

    python tools/same_predictions.py --write   # before a change: record digests and some numbers
    python tools/same_predictions.py           # after it: compare, exit 1 if anything differs

Digests are of all bits, so they hold for one machine and one set of installed versions; where processor or
versions are others than those of the record, the numbers stored beside the digests are compared to 1e-6.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from localegop import LocalEGOPRegressor, _core
from localegop.datasets import make_helix

STORED = ("predict", "blended")  # answers of which some numbers are stored beside the digest
RECORD = Path(__file__).with_name("same_predictions.json")
FIELDS = [
    "value",
    "gradient",
    "metric",
    "agop",
    "effective_size",
    "step",
    "loo_error",
    "noise",
    "variance_factor",
    "status",
    "std",
]


def sample(n: int, dimension: int, noise: float = 0.0) -> tuple[Any, Any, Any]:
    """Rows and labels on a helix, and 40 further rows."""
    X, y = make_helix(n + 40, dimension, noise=noise, random_state=3)
    return X[:n], y[:n], X[n:]


def answers(model: Any, queries: Any) -> Iterator[tuple[str, Any]]:
    """Return everything that a fitted model tells about queries."""
    fits = model.localize(queries, trace=True, errors=False)
    yield "predict", model.predict(queries, exact=True)
    yield "blended", model.predict(queries)
    yield "interval", model.predict_interval(queries, [0.5, 0.9])
    for name in FIELDS:
        yield name, getattr(fits, name)
    if fits.trace is not None:
        yield from ((f"trace_{name}", value) for name, value in vars(fits.trace).items())
    if not fits._parts:
        yield "neighbors", fits.neighbors(0).weight
    choices = model.choice_ if isinstance(model.choice_, tuple) else (model.choice_,)
    yield "choice", [[c.step, c.size or 0.0, c.ridge, c.error] for c in choices]
    for name in ("loo_residuals_", "gain_over_isotropic_"):
        if hasattr(model, name):
            yield name, getattr(model, name)
    if model.strategy == "field":
        yield "importance", model.global_importance()


def plain(n: int = 400, dimension: int = 5, noise: float = 0.0, **parameters: Any) -> Any:
    """Fit and answer, with parameters of the regressor."""
    X, y, queries = sample(n, dimension, noise)
    return answers(LocalEGOPRegressor(**parameters).fit(X, y), queries)


def weighted() -> Any:
    """Sample weights, repeated and missing rows."""
    X, y, queries = sample(300, 4, 0.1)
    X, y = np.vstack([X, X[:30]]), np.concatenate([y, y[:30]])
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    X[5, 1] = np.nan
    return answers(LocalEGOPRegressor(missing="drop").fit(X, y, weight), queries)


def outputs(kind: str) -> Any:
    """Fit two outputs."""
    X, y, queries = sample(300, 4)
    model = LocalEGOPRegressor(outputs=kind).fit(X, np.column_stack([y, X[:, 0] ** 2]))
    return answers(model, queries)


def stored() -> Any:
    """Save a model to a file and load it again."""
    X, y, queries = sample(300, 4, 0.1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        LocalEGOPRegressor().fit(X, y).save(path)
        return list(answers(LocalEGOPRegressor.load(path), queries))


def on_cluster(noise: float) -> Any:
    """Fit on a Dask cluster in this process."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from localegop.distributed import DaskLocalEGOPRegressor

    X, y, queries = sample(1600, 5, noise)
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        lazy = da.from_array(X, chunks=(400, -1)), da.from_array(y, chunks=400)
        model = DaskLocalEGOPRegressor(n_partitions=3, max_neighbors=300).fit(*lazy)
        return [("predict", np.asarray(model.predict(queries))), ("choice", [model.choice_.error])]


def tricube(u: Any) -> Any:
    """Kernel of the user's own."""
    return np.maximum(1.0 - np.minimum(u, 1.0) ** 1.5, 0.0) ** 3


LITERAL = {**LocalEGOPRegressor.paper_parameters(), "n_iter": 8, "n_subsamples": 40}
UNBIASED = {**LITERAL, "weighting": "unbiased"}
CASES: dict[str, Callable[[], Any]] = {
    "defaults, no noise": plain,
    "defaults, noise": lambda: plain(noise=0.3),
    "polynomials of degree 2": lambda: plain(noise=0.1, degree=2),
    "local means": lambda: plain(noise=0.1, degree=0, kernel="epanechnikov"),
    "kriging, own kernel": lambda: plain(200, 3, final="kriging", kernel=tricube),
    "global process": lambda: plain(200, 3, 0.1, final="global"),
    "query strategy": lambda: plain(strategy="query", n_subsamples=50, kernel="laplace"),
    "paper": lambda: plain(300, 4, **UNBIASED),
    "paper, literally": lambda: plain(300, 4, **LITERAL),
    "bandwidths, cap, radius": lambda: plain(
        noise=0.1,
        schedule="geometric",
        n_iter=6,
        covariance_cap=0.5,
        exclusion_radius=1.5,
        kernel="student",
    ),
    "sizes with a cap": lambda: plain(noise=0.1, covariance_cap=2.0, kernel="biweight"),
    "weights, repeats, missing": weighted,
    "two outputs, shared": lambda: outputs("shared"),
    "two outputs, separate": lambda: outputs("separate"),
    "many rows, few neighbors": lambda: plain(6000, 4, 0.1, max_neighbors=300),
    "more than 15 features": lambda: plain(700, 18, 0.05, max_neighbors=250),
    "save and load": stored,
    "cluster, no noise": lambda: on_cluster(0.0),
    "cluster, noise": lambda: on_cluster(0.1),
}


def record_of(case: Callable[[], Any]) -> dict[str, Any]:
    """Digest of all bits, and some of the numbers."""
    digest, numbers = hashlib.sha256(), {}
    for name, value in case():
        array = np.ascontiguousarray(value, dtype=float)
        digest.update(name.encode() + np.array(array.shape).tobytes() + array.tobytes())
        if name in STORED:
            numbers[name] = [float(x) for x in array.ravel()[:8]]
    return {"digest": digest.hexdigest(), **numbers}


def same_numbers(found: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether the numbers stored beside two digests are the same to 1e-6."""
    names = [name for name in STORED if name in found]
    return all(name in old and np.allclose(found[name], old[name], rtol=1e-6, atol=1e-9) for name in names)


def machine() -> dict[str, str]:
    """Return what the last bits depend on."""
    return {
        "instruction set": _core.instruction_set,
        "processor": platform.machine(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--record", type=Path, default=RECORD, help="file of the record")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    before = json.loads(given.record.read_text()) if given.record.exists() else {"cases": {}}
    same_machine = before.get("machine") == machine()
    failed, found = 0, {}
    for name in given.only or CASES:
        found[name] = record_of(CASES[name])
        old = before["cases"].get(name)
        if given.write or old is None:
            verdict = "recorded" if given.write else "not in the record"
        elif found[name]["digest"] == old["digest"]:
            verdict = "same bits"
        elif same_numbers(found[name], old):
            verdict = "same to 1e-6" + (", bits differ" if same_machine else " (another machine)")
            failed += same_machine
        else:
            verdict, failed = "DIFFERENT", failed + 1
        print(f"{name:28} {found[name]['digest'][:12]}  {verdict}", flush=True)
    if given.write:
        cases = {name: one for name, one in {**before["cases"], **found}.items() if name in CASES}
        given.record.write_text(json.dumps({"machine": machine(), "cases": cases}, indent=1) + "\n")
    print(f"{len(found) - failed} of {len(found)} as recorded" if not given.write else "recorded")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
