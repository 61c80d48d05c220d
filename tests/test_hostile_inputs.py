"""Inputs that nobody should give, made at random: each gives finite results or one clear error.

``python tests/test_hostile_inputs.py 0 1000`` runs cases of these numbers and prints what became of them.
"""

import re
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop.kernels import Kernel

QUICK, ALL, GROUP = 60, 1000, 20  # cases of `make test`, of `make test-all`, and of one test
SECONDS = 20.0  # after which a case hangs; they take 0.1 s
MOST_LINES, MOST_LETTERS = 6, 900  # of an error that is still clear


@dataclass
class Case:
    """Arguments of a fit and of predictions, and what was done to them."""

    X: object
    y: object
    sample_weight: object = None
    queries: object = None
    parameters: dict = field(default_factory=dict)
    done: list = field(default_factory=list)


# Each function changes something about an array (rows, columns), or returns another object in its place.


def scaled(rng, X):
    largest = rng.choice([20, 140, 307])
    return X * 10.0 ** rng.uniform(-largest, largest)


def scaled_columns(rng, X):
    largest = rng.choice([8, 65, 200])
    return X * 10.0 ** rng.uniform(-largest, largest, size=X.shape[1])


def one_extreme_value(rng, X):
    X = X.copy()
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = 10.0 ** rng.uniform(3, rng.choice([20, 140, 308]))
    return X


def one_special_value(rng, X):
    X = X.copy()
    special = [np.nan, np.inf, -np.inf, 5e-324, -0.0, np.finfo(float).max]
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = special[rng.integers(len(special))]
    return X


def far_from_zero(rng, X):
    return X + 10.0 ** rng.uniform(3, 30)


def with_constant_column(rng, X):
    X = X.copy()
    X[:, 0] = rng.choice([0.0, 3.0, -1.0, 1e-310, 1e120, 1e300])
    return X


def with_collinear_columns(rng, X):
    return np.hstack([X, X[:, :1], -2.0 * X[:, :1], X[:, :1] + 1e-12 * X[:, -1:]])


def all_equal(rng, X):
    return np.repeat(X[:1], len(X), axis=0)


def repeated_rows(rng, X):
    return X[rng.integers(max(1, len(X) // 4), size=len(X))]


def of_two_values(rng, X):
    return (X > 0.0).astype(float)


def wide(rng, X):
    return rng.normal(size=(len(X), 35))


def as_type(*types):
    def convert(rng, X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return X.astype(types[rng.integers(len(types))])

    convert.__name__ = f"as_{np.dtype(types[0]).name}"
    return convert


def as_words(rng, X):
    words = X.astype(object)
    words[0, 0] = ["x", "", None, "1e5", b"1", {}, [1.0]][rng.integers(7)]
    return words


def as_read_only(rng, X):
    X = X.copy()
    X.setflags(write=False)
    return X


def as_column_major(rng, X):
    return np.asfortranarray(X)


def as_view(rng, X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::-2, ::3]


def as_lists(rng, X):
    return X.tolist()


def as_ragged_lists(rng, X):
    rows = X.tolist()
    rows[0] = rows[0][:-1]
    return rows


def as_frame(rng, X):
    names = [f"c{j}" for j in range(X.shape[1])]
    names = [names, ["same"] * X.shape[1], list(range(X.shape[1])), ["", *names[1:]], [0, *names[1:]]]
    names += [[f"größe {j}\n" for j in range(X.shape[1])], [(j, "a") for j in range(X.shape[1])]]
    return pd.DataFrame(X, columns=names[rng.integers(len(names))])


def as_nullable_frame(rng, X):
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[0, 0] = pd.NA
    return frame


def as_sparse(rng, X):
    return scipy.sparse.csr_matrix(X)


def as_masked(rng, X):
    return np.ma.masked_array(X, mask=rng.random(X.shape) < 0.1)


def as_bytes_swapped(rng, X):
    return X.astype(">f8")


def flat(rng, X):
    return X.ravel()


def deep(rng, X):
    return X[:, :, None]


def too_short(rng, X):
    return X[:-1]


def without_rows(rng, X):
    return X[:0]


def without_columns(rng, X):
    return X[:, :0]


def one_row(rng, X):
    return X[:1]


def not_an_array(rng, X):
    return [None, 3.0, "X", {}, object(), np.float64(1.0)][rng.integers(6)]


VALUES = [
    scaled,
    scaled_columns,
    one_extreme_value,
    one_special_value,
    far_from_zero,
    with_constant_column,
    all_equal,
    repeated_rows,
    of_two_values,
]
FORMS = [
    as_type(np.float32, np.float16, np.longdouble),
    as_type(np.int8, np.int64, np.uint64),
    as_type(bool),
    as_type(object),
    as_type(str, bytes),
    as_type(complex),
    as_type("datetime64[s]", "timedelta64[s]"),
    as_words,
    as_read_only,
    as_column_major,
    as_view,
    as_lists,
    as_ragged_lists,
    as_frame,
    as_nullable_frame,
    as_sparse,
    as_masked,
    as_bytes_swapped,
    flat,
    deep,
    too_short,
    without_rows,
    without_columns,
    one_row,
    not_an_array,
]


def weights(rng, n):
    """Weights of some kind, and its name."""
    some = rng.uniform(0.2, 3.0, size=n)
    kinds = {
        "ordinary": some,
        "some zero": some * (rng.random(n) < 0.6),
        "all zero": np.zeros(n),
        "tiny": np.full(n, 5e-324),
        "huge": np.full(n, 1e308),
        "of any size": 10.0 ** rng.uniform(-323, 308, size=n),
        "of many sizes": 10.0 ** rng.uniform(-90, 90, size=n),
        "scaled": some * 10.0 ** rng.uniform(-300, 300),
        "one huge": np.append(some[1:], 10.0 ** rng.uniform(3, 308)),
        "one tiny": np.append(some[1:], 10.0 ** rng.uniform(-323, -3)),
        "whole": rng.integers(0, 4, size=n),
        "negative": some - 1.0,
        "nan": np.append(some[1:], np.nan),
        "infinite": np.append(some[1:], np.inf),
        "too few": some[1:],
        "a column": some[:, None],
        "words": ["heavy"] * n,
        "complex": some + 1j,
        "a number": 2.5,
        "a word": "balanced",
        "a frame": pd.Series(some, name="w"),
    }
    name = list(kinds)[rng.integers(len(kinds))]
    return name, kinds[name]


def steep(u):
    return np.exp(-1e3 * u)


PARAMETERS = {
    "strategy": ["query", "fields", None, 3],
    "schedule": ["power", "geometric", "linear", lambda t: 0.5, lambda t: np.nan, lambda t: "wide", 7],
    "n_iter": [0, 1, 3, -1, 2.5, "many", np.nan, True],
    "n_subsamples": [1, 0, "many"],
    "momentum": [1.0, 1e-300, 0.0, 1.5, np.nan, "fast"],
    "initial_scale": [1e-300, 1e300, 0.0, -1.0, np.inf, np.nan],
    "initial_metric": [
        "identity",
        "variance",
        "power",
        "other",
        [1.0],
        [[1.0]],
        -1.0,
        [np.nan],
        None,
        [1e300],
    ],
    "exclusion_radius": [0.5, 1e-300, 1e300, 0.0, np.inf, np.nan, "near"],
    "covariance_cap": [1.0, 1e-300, 1e300, 0.0, np.nan, "small"],
    "kernel": ["student", "laplace", "boxcar", steep, np.exp, abs, 5, None, Kernel("own", steep)],
    "degree": [0, 1, 2, 3, -1, 1.5, "high"],
    "ridge": [0.0, 1e-300, 1e300, -1.0, np.inf, np.nan, "large", None],
    "final": ["polynomial", "kriging", "cubic", None],
    "max_neighbors": [2, 5, None, 1, 0, -5, 2.5, "all", 10**30],
    "outputs": ["separate", "all", 1],
    "missing": ["drop", "fill", None],
    "random_state": [None, 5, -1, "seed", 1.5, 2**70, np.random.RandomState(0)],
    "n_jobs": [1, 2, -1, 0, 100000, 1.5, "all", 10**30],
    "verbose": [0, -1, "loud", None],
}


@np.errstate(over="ignore", invalid="ignore")
def make_case(number):
    """Case of that number, always the same."""
    rng = np.random.default_rng([19, number])
    n, width = int(rng.choice([2, 3, 6, 15, 30, 40])), int(rng.choice([1, 2, 3, 6]))
    X = rng.normal(size=(n, width))
    y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(n, int(rng.choice([1, 1, 2]))))
    case = Case(X, y, parameters={"n_iter": int(rng.integers(3)), "n_subsamples": 10})
    case.queries = X[:5] + 0.1
    _change_features(rng, case)
    _change_labels(rng, case)
    if rng.random() < 0.25:
        name, case.sample_weight = weights(rng, n)
        case.done.append(f"weights {name}")
    while rng.random() < 0.25:
        _change_parameter(rng, case)
    return case


def pick(rng, functions):
    return functions[rng.integers(len(functions))]


def _change_features(rng, case):
    while rng.random() < 0.4:
        change = pick(rng, [*VALUES, with_collinear_columns, wide])
        case.X = change(rng, case.X)
        case.done.append(f"X {change.__name__}")
    case.queries = case.X[:5]
    if rng.random() < 0.4:
        change = pick(rng, VALUES if rng.random() < 0.7 else FORMS)
        case.queries = change(rng, case.queries)
        case.done.append(f"queries {change.__name__}")
    if rng.random() < 0.2:
        change = pick(rng, FORMS)
        case.X = change(rng, case.X)
        case.done.append(f"X {change.__name__}")


def _change_labels(rng, case):
    while rng.random() < 0.35:
        change = pick(rng, VALUES)
        case.y = change(rng, case.y)
        case.done.append(f"y {change.__name__}")
    if rng.random() < 0.5 and case.y.shape[1] == 1:
        case.y = case.y[:, 0]
    elif rng.random() < 0.3:
        change = pick(rng, FORMS)
        case.y = change(rng, case.y)
        case.done.append(f"y {change.__name__}")


def _change_parameter(rng, case):
    name = list(PARAMETERS)[rng.integers(len(PARAMETERS))]
    case.parameters[name] = pick(rng, PARAMETERS[name])
    case.done.append(f"{name}={case.parameters[name]!r}")


ARGUMENTS = re.compile(r"\b(" + "|".join(["X", "y", "sample_weight", *PARAMETERS]) + r")\b")


@contextmanager
def time_limit(seconds):
    """Raise a TimeoutError after so many seconds."""

    def stop(*_):
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def outcome(case):
    """What became of a case: "finite", "refused", or a problem in words."""
    with (
        warnings.catch_warnings(record=True) as caught,
        time_limit(SECONDS),
        np.errstate(all="warn", under="ignore"),
    ):
        warnings.simplefilter("always")
        try:
            found = fit_and_ask(case)
        except (ValueError, TypeError) as error:
            found = judge_error(error)
        except (Exception, TimeoutError) as error:
            found = f"unclear: {type(error).__name__}: {error}"
    wrong = [w for w in caught if not is_our_warning(w)]
    return f"warning: {wrong[0].category.__name__}: {wrong[0].message}" if wrong else found


def is_our_warning(caught):
    ours = (
        r"coverage=.* asks for more than|queries have fewer than two training points|feature names|"
        r"only . distinct rows"
    )
    if caught.category is ExtrapolationWarning:
        return True
    return caught.category is UserWarning and re.search(ours, str(caught.message)) is not None


def judge_error(error):
    text = str(error)
    if len(text.splitlines()) > MOST_LINES or len(text) > MOST_LETTERS:
        return f"unclear: too long: {text[:300]}"
    if ARGUMENTS.search(text) is None:
        return f"unclear: names no argument: {type(error).__name__}: {text}"
    return "refused"


def fit_and_ask(case):
    """Fit and ask for everything; a problem if a number is not finite."""
    model = LocalEGOPRegressor(**case.parameters).fit(case.X, case.y, case.sample_weight)
    numbers = fitted_numbers(model, case)
    model.predict(case.queries)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "coverage=.* asks for more than", UserWarning)
        intervals = model.predict_interval(case.queries, coverage=0.5)
    numbers["interval"] = np.where(np.isinf(intervals), 0.0, intervals)  # infinite where rows are few
    numbers["prediction"], numbers["std"] = model.predict(case.queries, return_std=True)
    fits = model.localize(case.queries)
    for name in ("value", "gradient", "metric", "agop", "effective_size", "loo_error", "noise"):
        numbers[name] = getattr(fits, name)
    for name in ("variance_factor", "std", "covariance", "sensitivity"):
        numbers[f"{name} of localize"] = getattr(fits, name)
    sloped = np.sum(fits.sensitivity**2, axis=-1) > 0.0  # else these are NaN
    numbers["importance"] = fits.importance[sloped]
    numbers["intrinsic dimension"] = fits.intrinsic_dimension[sloped]
    wrong = [name for name, values in numbers.items() if not np.isfinite(values).all()]
    return f"not finite: {', '.join(wrong)}" if wrong else "finite"


def fitted_numbers(model, case):
    if model.strategy == "query":
        return {}
    residuals = model.loo_residuals_
    if case.sample_weight is not None or model.missing == "drop":
        residuals = residuals[~np.isnan(residuals)]  # of rows without weight
    return {"global importance": model.global_importance(), "residuals": residuals}


def problems(numbers):
    """Cases of these numbers that ended in neither finite results nor a clear error."""
    found = []
    for number in numbers:
        case = make_case(number)
        ending = outcome(case)
        if ending not in ("finite", "refused"):
            found.append(f"case {number} ({'; '.join(case.done)}): {ending}")
    return found


GROUPS = [range(start, start + GROUP) for start in range(0, ALL, GROUP)]


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(r, marks=[pytest.mark.slow] * (r.start >= QUICK), id=f"{r.start}-{r.stop - 1}")
        for r in GROUPS
    ],
)
def test_hostile_inputs_give_finite_results_or_a_clear_error(numbers):
    assert problems(numbers) == []


def main(first, last):
    endings, slowest = Counter(), (0.0, 0)
    for number in range(first, last):
        case = make_case(number)
        begin = time.perf_counter()
        ending = outcome(case)
        slowest = max(slowest, (time.perf_counter() - begin, number))
        endings[ending.split(":")[0]] += 1
        if ending not in ("finite", "refused"):
            print(f"case {number} ({'; '.join(case.done)}): {ending}", flush=True)
    print(dict(endings), f"slowest: {slowest[0]:.2f} s, case {slowest[1]}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
