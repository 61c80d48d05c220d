"""The compiled core against the reference, center by center."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from localegop import _core
from localegop.kernels import KERNELS, Kernel, effective_size
from localegop.reference import KERNELS as REFERENCE
from localegop.reference import local_linear, scale_for_effective_size, squared_distances

RNG = np.random.default_rng(0)
NAMES = [name for name, *_ in _core.kernels]
RIDGE = 1e-6


def problem(dimension, n=300, centers=5):
    """The same rows whatever other tests ran before."""
    rng = np.random.default_rng([0, dimension, n])
    X = rng.normal(size=(n, dimension))
    y = np.sin(X[:, 0]) + X[:, -1] ** 2
    queries = rng.normal(size=(centers, dimension))
    roots = rng.normal(size=(centers, dimension, dimension))
    metrics = roots @ np.swapaxes(roots, 1, 2) / dimension**2
    return X, y, queries, metrics


def spec(kernel):
    return (KERNELS[kernel] if isinstance(kernel, str) else kernel).spec(1e-16, 1e-16)


def run(X, y, queries, metrics, kernel="gaussian", **changed):
    points = _core.Points(X, y[:, None], np.ones(len(X)))
    arguments = {
        "start": None,
        "indices": None,
        "left_out": None,
        "targets": np.full((len(queries), 1), 40.0 + X.shape[1]),
        "scales": None,
        "keep": True,
        "kept_targets": None,
        "degree": 1,
        "quadratic_directions": [0],
        "ridges": [RIDGE],
        "gradients": True,
        "variances": True,
        "threads": 1,
    } | changed
    return _core.localize(points, spec(kernel), queries, metrics, **arguments)


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
@pytest.mark.parametrize("kernel", NAMES)
def test_fit_at_an_effective_size_equals_the_reference(kernel, dimension):
    X, y, queries, metrics = problem(dimension)
    _, scales, sizes, values, gradients, _ = run(X, y, queries, metrics, kernel)
    profile = KERNELS[kernel]
    for i, query in enumerate(queries):
        u = squared_distances(X, query, metrics[i])
        scale = scale_for_effective_size(u, 40.0 + dimension, REFERENCE[kernel])
        value, gradient = local_linear(X, y, query, scale * metrics[i], REFERENCE[kernel], RIDGE)
        assert sizes[i, 0] == pytest.approx(effective_size(profile.weights(scales[i, 0] * u)))
        assert values[i].item() == pytest.approx(value, rel=1e-9, abs=1e-10)
        assert gradients[i, 0, 0, 0, 0] == pytest.approx(gradient, rel=1e-8, abs=1e-9)


def test_custom_profile_equals_the_built_in_one():
    X, y, queries, metrics = problem(3)
    own = run(X, y, queries, metrics, Kernel("own", lambda u: np.exp(-u)))
    built_in = run(X, y, queries, metrics)
    for ours, theirs in zip(own[1:], built_in[1:], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    with pytest.raises(ValueError, match="one weight per distance"):
        run(X, y, queries, metrics, Kernel("short", lambda u: u[:2].copy()))
    with pytest.raises(ValueError, match="one thread"):
        run(X, y, queries, metrics, Kernel("own", lambda u: np.exp(-u)), threads=2)


def sampled(X, y, queries, metrics, kernel, scale, subsamples=20):
    points = _core.Points(X, y[:, None], np.ones(len(X)))
    scales, seeds = np.full(len(queries), scale), np.arange(len(queries), dtype=np.uint64)
    around = points, spec(kernel), queries, metrics, None, None
    return _core.sampled_steps(*around, None, scales, seeds, 0, subsamples, RIDGE, "unbiased", 1)


def test_a_kernel_of_ones_own_that_is_shift_invariant_does_not_underflow():
    """Neighbors so far that exp(-u) is zero count nevertheless, as for the built-in Gaussian."""
    X, y, queries, metrics = problem(3)
    far, scale = queries + 1e4, 2e-4
    assert all(np.exp(-scale * squared_distances(X, far[i], metrics[i])).max() == 0.0 for i in range(5))
    shifted = Kernel("own", lambda u: np.exp(-u), shift_invariant=True)
    plain = Kernel("own", lambda u: np.exp(-u))
    built_in, own, without = (
        run(X, y, far, metrics, kernel, targets=None, scales=np.full((5, 1), scale))
        for kernel in ("gaussian", shifted, plain)
    )
    assert own[2] == pytest.approx(built_in[2], rel=1e-6)
    assert own[3] == pytest.approx(built_in[3], rel=1e-4)
    assert np.all(own[2] > 2.0)
    assert np.all(without[2] == 1.0)


def test_leave_one_out_fits_with_a_shift_invariant_kernel_of_ones_own():
    """The fit at a point far from all others is the one at which exp(-u) would be zero."""
    X, y, _, _ = problem(3, n=60)
    X[0] = [1e4, 0.0, 0.0]
    query, metric = np.array([[5e3, 0.0, 0.0]]), np.eye(3)[None]
    built_in, own, without = (
        sampled(X, y, query, metric, kernel, 2e-4, 60)
        for kernel in (
            "gaussian",
            Kernel("own", lambda u: np.exp(-u), shift_invariant=True),
            Kernel("own", lambda u: np.exp(-u)),
        )
    )
    for ours, theirs in zip(own, built_in, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert without[1] != pytest.approx(built_in[1], rel=1e-2)


def test_support_of_a_kernel_of_ones_own_bounds_who_is_looked_at():
    X, y, queries, metrics = problem(3)
    looked_at = []

    def tricube(u):
        looked_at.append(len(u))
        return np.maximum(1.0 - np.minimum(u, 1.0) ** 1.5, 0.0) ** 3

    anywhere = sampled(X, y, queries, metrics, Kernel("tricube", tricube), 4.0)
    everyone = sum(looked_at)
    looked_at.clear()
    bounded = sampled(X, y, queries, metrics, Kernel("tricube", tricube, support=1.0), 4.0)
    assert sum(looked_at) < 0.8 * everyone
    for ours, theirs in zip(bounded, anywhere, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_smoother_coefficients_give_value_and_variance_factor():
    """Value is linear in the labels; the variance factor is the sum of squares of its coefficients."""
    X, y, queries, metrics = problem(3, n=60)
    factor = run(X, y, queries, metrics, quadratic_directions=[1])[5].ravel()
    coefficients = np.array(
        [
            run(X, np.eye(len(X))[j], queries, metrics, quadratic_directions=[1])[3].ravel()
            for j in range(len(X))
        ]
    )
    assert coefficients.sum(axis=0) == pytest.approx(np.ones(len(queries)))
    assert factor == pytest.approx((coefficients**2).sum(axis=0))


def test_quadratic_fit_is_least_squares_with_product_terms():
    X, y, queries, _ = problem(4)
    bases = np.linalg.qr(RNG.normal(size=(5, 4, 4)))[0]
    metrics = (bases * [1.0, 0.2, 0.04, 0.008]) @ np.swapaxes(bases, 1, 2)
    hoods, _, _, values, gradients, _ = run(
        X, y, queries, metrics, quadratic_directions=[0, 1, 2], ridges=[0.0]
    )
    for i, query in enumerate(queries):
        indices, weights = hoods.neighbors(i)
        d = X[indices] - query
        leading = np.linalg.eigh(metrics[i])[1][:, ::-1]
        for number in range(3):
            products = [(d @ leading[:, j])[:, None] * d for j in range(number)]
            design = np.hstack([np.ones((len(d), 1)), d, *products])
            root = np.sqrt(weights)
            solution = np.linalg.lstsq(root[:, None] * design, root * y[indices], rcond=1e-12)[0]
            assert values[i, 0, number, 0, 0] == pytest.approx(solution[0], rel=1e-7)
            assert gradients[i, 0, number, 0, 0] == pytest.approx(solution[1:5], rel=1e-6, abs=1e-7)


def test_several_sizes_and_ridges_at_once_equal_one_by_one():
    X, y, queries, metrics = problem(3)
    sizes, ridges = [120.0, 40.0, 10.0], [1e-6, 1e-2]
    together = run(
        X, y, queries, metrics, targets=np.tile(sizes, (5, 1)), ridges=ridges, quadratic_directions=[0, 1]
    )
    for s, size in enumerate(sizes):
        for r, ridge in enumerate(ridges):
            alone = run(
                X,
                y,
                queries,
                metrics,
                targets=np.full((5, 1), size),
                ridges=[ridge],
                quadratic_directions=[1],
            )
            assert together[3][:, s, 1, r] == pytest.approx(alone[3][:, 0, 0, 0], rel=1e-9)


def test_averages_over_neighborhoods():
    X, y, queries, metrics = problem(3)
    hoods = run(X, y, queries, metrics)[0]
    gradients = RNG.normal(size=(len(X), 2, 3))
    outer, means = np.empty((len(queries), 3, 3)), hoods.means(X, 2)
    hoods.outer_products(gradients, outer, 2)
    for i in range(len(queries)):
        indices, weights = hoods.neighbors(i)
        assert weights.sum() == pytest.approx(1.0)
        g = gradients[indices]
        assert outer[i] == pytest.approx(np.einsum("i,ika,ikb->ab", weights, g, g))
        assert means[i] == pytest.approx(weights @ X[indices])


def test_left_out_points_do_not_speak_and_candidates_limit_who_does():
    X, y, _, metrics = problem(2, centers=4)
    left_out = np.arange(4)
    hoods = run(X, y, X[:4], metrics, left_out=left_out)[0]
    assert all(i not in hoods.neighbors(i)[0] for i in range(4))
    start, indices = np.arange(0, 41, 10), np.arange(40, dtype=np.int32)
    hoods = run(X, y, X[:4], metrics, start=start, indices=indices, targets=np.full((4, 1), 5.0))[0]
    assert all(set(hoods.neighbors(i)[0]) <= set(range(10 * i, 10 * i + 10)) for i in range(4))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 12, 20])
def test_gram(rows):
    columns = RNG.normal(size=(rows, 64))
    assert np.tril(_core.gram(columns)) == pytest.approx(np.tril(columns @ columns.T))


def test_shapes_are_checked():
    X, y, queries, metrics = problem(3)
    with pytest.raises(ValueError, match="differ from the points in width"):
        run(X, y, queries[:, :2].copy(), metrics)
    with pytest.raises(ValueError, match="one metric a center"):
        run(X, y, queries, metrics[:2])
    with pytest.raises(ValueError, match="either targets or scales"):
        run(X, y, queries, metrics, targets=None)
    with pytest.raises(ValueError, match="more quadratic directions than dimensions"):
        run(X, y, queries, metrics, quadratic_directions=[4])


def test_neighborhoods_of_another_size_are_those_that_this_size_alone_would_give():
    X, y, queries, metrics = problem(4)
    wide = np.linspace(90.0, 120.0, 5)
    both = run(X, y, queries, metrics, kept_targets=wide)
    alone = run(X, y, queries, metrics, targets=wide[:, None])
    assert np.array_equal(both[3], run(X, y, queries, metrics)[3])
    for name in ("scale", "effective_size"):
        assert np.array_equal(getattr(both[0], name), getattr(alone[0], name))
    assert np.array_equal(alone[0].scale, alone[1][:, 0])
    assert np.array_equal(alone[0].effective_size, alone[2][:, 0])
    for i in range(5):
        for ours, theirs in zip(both[0].neighbors(i), alone[0].neighbors(i), strict=True):
            assert np.array_equal(ours, theirs)


def nearest_by_sorting(X, center, count):
    squared = np.sum((X - center) ** 2, axis=1)
    return np.sort(np.argsort(squared, kind="stable")[:count])


def far_first(n):
    """Points near the origin but for those that a first guess of distances is made from."""
    X = RNG.normal(size=(n, 3))
    X[::16] += 100.0
    return X


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(RNG.normal(size=(5000, 17)), id="normal"),
        pytest.param(RNG.integers(0, 3, size=(3000, 4)).astype(float), id="many ties"),
        pytest.param(np.zeros((700, 2)), id="all equal"),
        pytest.param(far_first(4000), id="first guess too low or too high"),
        pytest.param(np.sort(RNG.normal(size=(4000, 1)), axis=0), id="sorted"),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 40, 600])
def test_nearest_by_all_distances(X, count):
    centers = np.concatenate([X[:5], X[16:17], RNG.normal(size=(34, X.shape[1]))])
    points = _core.Points(X, X[:, :1].copy(), np.ones(len(X)))
    found, again = (np.empty((len(centers), count), dtype=np.int32) for _ in range(2))
    _core.nearest(points, centers, found, 1)
    _core.nearest(points, centers, again, 2)
    assert np.array_equal(found, again)
    for i, center in enumerate(centers):
        assert found[i].tolist() == nearest_by_sorting(X, center, count).tolist()


def test_all_points_are_nearest_if_all_are_wanted():
    X = RNG.normal(size=(50, 2))
    found = np.empty((3, 50), dtype=np.int32)
    _core.nearest(_core.Points(X, X[:, :1].copy(), np.ones(50)), X[:3].copy(), found, 1)
    assert np.array_equal(found, np.tile(np.arange(50), (3, 1)))
    with pytest.raises(ValueError, match="columns"):
        _core.nearest(
            _core.Points(X, X[:, :1].copy(), np.ones(50)), X[:3].copy(), np.empty((3, 51), np.int32), 1
        )


def under(instruction_set, script, stdin=b""):
    """Run a script in a process of its own whose core uses this instruction set."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"LOCALEGOP_ISA": instruction_set},
        input=stdin,
        capture_output=True,
        check=False,
    )


FITS = """
import io, sys
import numpy as np
from localegop import _core
given = np.load(io.BytesIO(sys.stdin.buffer.read()))
X, y, queries, metrics = (given[name] for name in ("X", "y", "queries", "metrics"))
points = _core.Points(X, y[:, None], np.ones(len(X)))
results = {"instruction_set": np.array(_core.instruction_set)}
for kernel, *_ in _core.kernels:
    spec = _core.KernelSpec.named(kernel, 1e-16, 1e-16)
    around = points, spec, queries, metrics, None, None
    fits = _core.localize(
        *around, None, np.full((len(queries), 1), 45.0), None, False, None, 1, [0], [1e-6], True, True, 1
    )
    for name, array in zip(("scale", "size", "value", "gradient", "variance"), fits[1:], strict=True):
        results[f"{name} {kernel}"] = array
out = io.BytesIO()
np.savez(out, **results)
sys.stdout.buffer.write(out.getvalue())
"""


@pytest.mark.parametrize("instruction_set", _core.instruction_sets)
def test_every_instruction_set_equals_the_reference(instruction_set):
    X, y, queries, metrics = problem(5)
    given = io.BytesIO()
    np.savez(given, X=X, y=y, queries=queries, metrics=metrics)
    done = under(instruction_set, FITS, given.getvalue())
    assert done.returncode == 0, done.stderr.decode()
    found = np.load(io.BytesIO(done.stdout))
    assert found["instruction_set"] == instruction_set
    for name in NAMES:
        for i, query in enumerate(queries):
            u = squared_distances(X, query, metrics[i])
            scale = scale_for_effective_size(u, 45.0, KERNELS[name])
            value, gradient = local_linear(X, y, query, scale * metrics[i], REFERENCE[name], RIDGE)
            size = effective_size(KERNELS[name].weights(found[f"scale {name}"][i] * u))
            assert found[f"size {name}"][i] == pytest.approx(size, rel=1e-9)
            assert found[f"value {name}"][i].item() == pytest.approx(value, rel=1e-9, abs=1e-10)
            assert found[f"gradient {name}"][i].ravel() == pytest.approx(gradient, rel=1e-8, abs=1e-9)


def test_the_fastest_instruction_set_is_used_unless_another_is_asked_for():
    default = under("", "from localegop import _core; print(_core.instruction_set, _core.instruction_sets)")
    assert default.stdout.decode().split(maxsplit=1)[0] == _core.instruction_sets[-1]
    assert _core.instruction_sets[0] == "baseline"


def test_an_instruction_set_that_cannot_run_is_an_import_error_that_says_what_can():
    done = under("sse9", "import localegop._core")
    error = done.stderr.decode()
    assert done.returncode != 0
    assert "ImportError" in error
    assert "LOCALEGOP_ISA is 'sse9'" in error
    assert f"this processor can run: {', '.join(_core.instruction_sets)}." in error


INTERRUPTED = """
import signal, threading, time
import numpy as np
from localegop import _core
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 6))
points = _core.Points(X, X[:, :1].copy(), np.ones(len(X)))
spec = _core.KernelSpec.named("gaussian", 1e-12, 1e-12)
around = points, spec, np.tile(X, (20, 1)), np.tile(np.eye(6), (80000, 1, 1)), None, None
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background ignores
threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
start = time.monotonic()
try:
    _core.localize(
        *around, None, np.full((80000, 1), 45.0), None, False, None, 1, [0], [0.0], False, False, THREADS
    )
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start)
else:
    print("finished", time.monotonic() - start)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_can_be_interrupted(threads):
    done = under("", INTERRUPTED.replace("THREADS", str(threads)))
    assert done.stdout.startswith(b"interrupted"), (done.stdout, done.stderr)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_in_any_thread_is_raised(threads):
    X, y, queries, metrics = problem(2, centers=400)
    lengths = np.full(400, 20)
    lengths[317] = 0
    start = np.concatenate([[0], np.cumsum(lengths)])
    indices = RNG.integers(0, 300, size=start[-1]).astype(np.int32)
    with pytest.raises(RuntimeError, match="no candidate points"):
        run(X, y, queries, metrics, start=start, indices=indices, threads=threads)


@pytest.mark.parametrize("threads", [2, 5])
def test_any_number_of_threads_gives_the_same_bits(threads):
    X, y, queries, metrics = problem(3, centers=50)
    for ours, theirs in zip(
        run(X, y, queries, metrics, threads=threads)[1:], run(X, y, queries, metrics)[1:], strict=True
    ):
        assert np.array_equal(ours, theirs)
