"""Fits with given gradients against fits without: airfoils, a solar cell, a molecule, functions.

Run with ``python benchmarks/derivatives.py``; ``--only functions`` needs no data from outside. The sets
with adjoint and finite-difference gradients, and the molecule with forces, are read from the folder
``LOCALEGOP_DATA`` (naca0012.npz, diode.npz and rmd17_malonaldehyde_forces.npz); without it they are left
out, with a line that says so. Others take part where they are installed (``pip install
'localegop[bench]'``), see ``gradient_peers.py``; for those that are not, a line says so, too.

Errors are mean squared errors at rows that nothing was chosen by, over the variance of their labels.
Seconds are those of one processor.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from bars import HEAD, Table
from gradient_peers import PEERS, installed_peers

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop.datasets import inverse_distances, make_engineering

FIRST_SEED = 100  # those below were used while the method was made
FUNCTIONS = ("borehole", "otl_circuit", "piston", "wing_weight")
QUERIES = 2000
MANY = 5000
SEGMENTS, PART = 10_000, 1e-10
STENCIL = (1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)
SMALL_STEPS = 1e-5, 1e-6, 1e-7  # of differences, in standard deviations, where a function has kinks
WIDE_STEPS = tuple(np.linspace(0.1, 0.25, 16))  # where it is smooth, and rounding has to be averaged away
REFITS, TOLD = 100, 5  # fits to new noise, and those whose standard errors are looked at
OURS = ("without gradients", "with gradients", "shuffled gradients", "gradients times -1")


def load(name):
    """Read a set of arrays, or None if it is not there."""
    folder = os.environ.get("LOCALEGOP_DATA")
    path = Path(folder or ".") / name
    if not folder or not path.exists():
        print(f"{name} is left out: set LOCALEGOP_DATA to the folder that has it")
        return None
    return np.load(path)


def split(count, rows, seed):
    """Numbers of training rows and of others."""
    order = np.random.default_rng(FIRST_SEED + seed).permutation(count)
    return order[:rows], order[rows : rows + QUERIES]


def ours(X, y, gradients):
    """Fit with gradients, or without for None."""
    return LocalEGOPRegressor(n_jobs=1).fit(X, y, gradients=gradients).predict


def methods(gradients):
    """Name who fits, with what."""
    shuffled = np.random.default_rng(0).permutation(gradients)
    found = {
        "without gradients": (ours, None),
        "with gradients": (ours, gradients),
        "shuffled gradients": (ours, shuffled),
        "gradients times -1": (ours, -gradients),
    }
    return found | {name: (peer.fit, gradients) for name, peer in PEERS.items()}


def measure(X, y, gradients, train, test, names):
    """Errors and seconds of some methods, by name."""
    found = {}
    for name, (fit, given) in methods(gradients[train]).items():
        if name not in names:
            continue
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            predict = fit(X[train], y[train], given)
            seconds = time.process_time() - begin
            errors = (predict(X[test]) - y[test]) ** 2
        found[name] = float(np.mean(errors) / y[test].var()), seconds
    return found


def table_of(what, runs):
    """Print mean errors and seconds over runs; return them by method."""
    print(f"\n{what}\n\n| method | error | of that without | seconds |\n|---|---|---|---|")
    names = [name for name in runs[0] if all(name in run for run in runs)]
    errors = {name: float(np.mean([run[name][0] for run in runs])) for name in names}
    seconds = {name: float(np.mean([run[name][1] for run in runs])) for name in names}
    for name in names:
        ratio = errors[name] / errors["without gradients"]
        print(f"| {name} | {errors[name]:.2e} | {ratio:.2f} | {seconds[name]:.1f} |", flush=True)
    return errors, seconds


def airfoils(table, seeds, quick, case):
    """Lift and drag of airfoils with adjoint gradients."""
    data = load("naca0012.npz")
    if data is None:
        return
    for rows, bar in ((300, 0.4), (1000, 0.5)):
        names = OURS if rows == 300 and not quick else OURS[:2]
        for output in ("lift", "drag"):
            given = data["X"], data[output], data[f"{output}_gradients"]
            what = f"NACA0012, {output}, {rows} rows"
            if case not in what:
                continue
            runs = [measure(*given, *split(len(given[1]), rows, seed), names) for seed in range(seeds)]
            errors, seconds = table_of(what, runs)
            ratio = errors["with gradients"] / errors["without gradients"]
            table.add(f"{what}: error with gradients over that without", ratio, bar)
            for name in names[2:]:
                table.add(f"{what}: {name}", errors[name] / errors["without gradients"], 1.1)
            if rows == 1000:
                table.add(f"{what}: seconds of a fit", seconds["with gradients"], 20.0, " s")
            elif not quick:
                beside_peers(table, what, given, split(len(given[1]), rows, 0))


def beside_peers(table, what, given, case):
    """Compare with others on one split, as they are slow."""
    names = installed_peers(len(case[0]) * (1 + given[0].shape[1]))
    errors, seconds = table_of(f"{what}, first split", [measure(*given, *case, (*OURS[:2], *names))])
    if names:
        best = min(errors[name] for name in names)
        table.add(f"{what}: error over the best of others", errors["with gradients"] / best, 1.0)
    if "SMT GEKPLS" in names:
        faster = seconds["SMT GEKPLS"] / seconds["with gradients"]
        table.add(f"{what}: times as fast as GEKPLS", faster, 10.0, at_least=True)


def diode(table, seeds, quick, case):
    """Power of a solar cell, with gradients by finite differences."""
    data = load("diode.npz")
    if data is None:
        return
    X, y = data["X"].copy(), data["y"].ravel()
    gradients = per_unit(X, data["gradients"])
    for rows in (500,) if quick else (500, 3000):
        what = f"diode, {rows} rows"
        if case not in what:
            continue
        cases = [split(len(y), rows, seed) for seed in range(seeds)]
        runs = [measure(X, y, gradients, *case, OURS) for case in cases]
        errors, _ = table_of(what, runs)
        for name, bar in (
            ("with gradients", 1.05),
            ("shuffled gradients", 1.1),
            ("gradients times -1", 1.1),
        ):
            table.add(f"{what}: {name}", errors[name] / errors["without gradients"], bar)


def per_unit(X, gradients):
    """Gradients per unit of each parameter, from those per half range; the second has a log scale."""
    low, high = X.min(axis=0), X.max(axis=0)
    found = 2.0 * gradients / (high - low)
    found[:, 1] = gradients[:, 1] * 2.0 / (np.log(high[1]) - np.log(low[1])) / X[:, 1]
    return found


def functions(table, seeds, quick, case):
    """Functions of engineering, with exact gradients."""
    ratios = []
    for name in FUNCTIONS:
        if case not in name:
            continue
        runs = []
        for seed in range(seeds):
            given = make_engineering(name, 200 + QUERIES, random_state=[FIRST_SEED, seed])
            runs.append(measure(*given, np.arange(200), np.arange(200, 200 + QUERIES), OURS[:2]))
        errors, _ = table_of(f"{name}, 200 rows", runs)
        if not quick:
            beside_peers(table, f"{name}, 200 rows", given, (np.arange(200), np.arange(200, 200 + QUERIES)))
        ratios.append(errors["with gradients"] / errors["without gradients"])
    table.add(
        f"functions, 200 rows: error with gradients over that without, median of {len(ratios)}",
        float(np.median(ratios)) if ratios else np.nan,
        0.2,
    )


def many_rows(table, seeds, quick, case):
    """The same functions with many rows; noise is a share of the deviations of labels and of slopes."""
    rows = 1000 if quick else MANY
    test = np.arange(rows, rows + QUERIES)
    for noise in (0.0, 0.1):
        for name in FUNCTIONS:
            what = f"{name}, {rows:,} rows, noise {noise:g}"
            if case not in what:
                continue
            runs = []
            for seed in range(seeds):
                X, y, gradients = make_engineering(name, rows + QUERIES, random_state=[FIRST_SEED, seed])
                rng = np.random.default_rng([FIRST_SEED, seed])
                noisy = y + noise * y.std() * rng.normal(size=len(y))
                noisy[test] = y[test]
                slopes = gradients + noise * gradients.std(axis=0) * rng.normal(size=gradients.shape)
                runs.append(measure(X, noisy, slopes, np.arange(rows), test, OURS[:2]))
            errors, _ = table_of(what, runs)
            table.add(
                f"{what}: with gradients", errors["with gradients"] / errors["without gradients"], 1.0
            )


def derivatives_out(table, seeds, quick, case):
    """Compare predict_gradient with differences of predict, and look for jumps of predict."""
    X, y, gradients = make_engineering("otl_circuit", 1500, random_state=FIRST_SEED)
    unit = X.std(axis=0)
    cases = {
        "process with gradients": ({}, 200, gradients, WIDE_STEPS, np.mean),
        "blend": ({"final": "polynomial"}, 500, None, SMALL_STEPS, nearest_to_zero),
    }
    for name, (options, rows, given, steps, combined) in cases.items():
        if case not in name:
            continue
        model = LocalEGOPRegressor(n_jobs=1, **options)
        model.fit(X[:rows], y[:rows], gradients=None if given is None else given[:rows])
        queries = X[500:]
        queries = queries[model.localize(queries, errors=False).remoteness < 0.8][:1000]
        found = model.predict_gradient(queries) * unit
        gaps = [found - differences(model.predict, queries, unit, step) for step in steps]
        usual = np.median(np.linalg.norm(found, axis=1))
        errors = np.linalg.norm(combined(gaps, axis=0), axis=1) / usual
        table.add(
            f"{name}: gradients against differences, {len(queries)} queries, median",
            np.median(errors),
            1e-6,
        )
        table.add(f"{name}: the same, 99 of 100", np.quantile(errors, 0.99), 1e-6)
        table.add(f"{name}: the same, maximum", errors.max(), 1e-6)
        rng = np.random.default_rng(FIRST_SEED)
        pairs = queries[rng.integers(len(queries), size=(2, 200 if quick else SEGMENTS))]
        jumps = largest_jumps(model.predict, *pairs) / y.std()
        table.add(f"{name}: largest jump on {len(jumps):,} segments", jumps.max(), 1e-8)


def differences(predict, queries, unit, step):
    """Gradients of predictions per unit of each feature, by central differences of eighth order."""
    found = np.zeros_like(queries)
    for a, e in enumerate(step * np.diag(unit)):
        for k, weight in STENCIL:
            found[:, a] += weight / step * (predict(queries + k * e) - predict(queries - k * e))
    return found


def nearest_to_zero(gaps, axis):
    """Take the smallest of several gaps (s, q, D) at each query.

    A blend has kinks, where another center joins. A step across one spoils the difference, and a smaller
    one does not reach it; a gradient that is wrong is so beside the differences of all steps.
    """
    best = np.argmin(np.linalg.norm(gaps, axis=2), axis=axis)
    return np.asarray(gaps)[best, np.arange(len(best))]


def largest_jumps(predict, begin, end):
    """Find the largest changes of predictions on shorter and shorter parts of segments.

    Of four parts of each segment that with the largest change is cut again, until it is PART of the whole.
    """
    low, high = np.zeros(len(begin)), np.ones(len(begin))
    while high[0] - low[0] > PART:
        places = low + np.linspace(0.0, 1.0, 5)[:, None] * (high - low)
        points = begin + places[:, :, None] * (end - begin)
        values = predict(points.reshape(-1, begin.shape[1])).reshape(places.shape)
        changes = np.abs(np.diff(values, axis=0))
        part = np.argmax(changes, axis=0)
        rows = np.arange(len(begin))
        low, high = places[part, rows], places[part + 1, rows]
    return changes[part, rows]


def standard_errors(table, seeds, quick, case):
    """Compare the standard errors of predict_gradient with how gradients vary over refits to new noise."""
    X, y, _ = make_engineering("otl_circuit", 200 + 100, random_state=FIRST_SEED)
    rng, unit = np.random.default_rng(FIRST_SEED), X.std(axis=0)
    found, told = [], []
    for k in range(10 if quick else REFITS):
        noisy = y[:200] + 0.1 * y.std() * rng.normal(size=200)
        model = LocalEGOPRegressor(n_jobs=1, random_state=k).fit(X[:200], noisy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            found.append(model.predict_gradient(X[200:]) * unit)
            if k < TOLD:
                told.append(model.predict_gradient(X[200:], return_std=True)[1] * unit)
    spread = np.sqrt(np.mean(np.var(found, axis=0, ddof=1), axis=0))
    ratio = np.sqrt(np.mean(np.square(told), axis=(0, 1))) / spread
    for what, number in (("smallest", ratio.min()), ("median", np.median(ratio)), ("largest", ratio.max())):
        print(f"standard errors over spread of {len(found)} refits, {what} of features: {number:.2f}")
    overall = np.sqrt(np.mean(np.square(told)) / np.mean(spread**2))
    table.add("standard errors over spread, all features: at least", overall, 0.7, at_least=True)
    table.add("standard errors over spread, all features: at most", overall, 1.4)


def molecule(table, seeds, quick, case):
    """Energies and forces of malonaldehyde (revised MD17, the public split), in kcal/mol and Angstrom."""
    data = load("rmd17_malonaldehyde_forces.npz")
    if data is None:
        return
    rows = 200 if quick else 1000
    X, jacobian = inverse_distances(data["train_positions"][:rows], return_jacobian=True)
    queries, there = inverse_distances(data["test_positions"], return_jacobian=True)
    energies = data["train_energies"][:rows]
    slopes, along = -data["train_forces"][:rows].reshape(rows, -1), jacobian.swapaxes(1, 2)
    print(f"\nmalonaldehyde, {rows:,} frames\n\n| fit | energies | forces | seconds |\n|---|---|---|---|")
    for name, given in (
        ("energies alone", {}),
        ("energies and forces", {"gradients": slopes, "directions": along}),
    ):
        begin = time.process_time()
        model = LocalEGOPRegressor(n_jobs=1).fit(X, energies, **given)
        seconds = time.process_time() - begin
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            energy = np.abs(model.predict(queries) - data["test_energies"]).mean()
            found = -np.einsum("nd,ndm->nm", model.predict_gradient(queries), there)
        force = np.abs(found - data["test_forces"].reshape(len(found), -1)).mean()
        print(f"| {name} | {energy:.3f} | {force:.3f} | {seconds:.0f} |", flush=True)


PARTS = {
    "functions": functions,
    "many": many_rows,
    "airfoils": airfoils,
    "diode": diode,
    "molecule": molecule,
    "out": derivatives_out,
    "errors": standard_errors,
}


def main(arguments=None):
    """Print tables of errors, and one of what they have to meet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tuple(PARTS), help="one part only")
    parser.add_argument("--seeds", type=int, default=3, help="splits of each set (3)")
    parser.add_argument("--case", default="", help="only sets whose title has this text")
    parser.add_argument("--quick", action="store_true", help="fewer rows and methods")
    given = parser.parse_args(arguments)
    table = Table(silent=True)
    for name, part in PARTS.items():
        if given.only in (None, name):
            part(table, given.seeds, given.quick, given.case)
    print("\n" + table.markdown() if table.rows else "\n" + HEAD)


if __name__ == "__main__":
    main()
