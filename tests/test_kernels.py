"""Kernels: profiles, weights, names."""

import copy
import pickle

import numpy as np
import pytest

from localegop import LocalEGOPRegressor, reference
from localegop.kernels import KERNELS, Kernel, as_kernel, effective_size


def test_every_kernel_of_the_core_is_in_the_reference_and_the_other_way_round():
    assert KERNELS.keys() == reference.KERNELS.keys()


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_profile_is_that_of_the_reference(name):
    u = np.concatenate([np.linspace(0, 5, 101), [30.0, 600.0]]).reshape(-1, 1)
    assert KERNELS[name](u) == pytest.approx(reference.KERNELS[name](u), rel=1e-14, abs=0.0)


def test_built_in_kernels_stay_so_when_copied_or_pickled():
    for kernel in KERNELS.values():
        assert copy.deepcopy(kernel).built_in
        assert pickle.loads(pickle.dumps(kernel)).built_in
    assert not Kernel("gaussian", lambda u: np.exp(-u)).built_in


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda k: k.name)
def test_profile_is_one_at_zero_and_falls(kernel):
    u = np.linspace(0, 5, 101)
    assert kernel([0.0]) == 1.0
    assert np.all(np.diff(kernel(u)) <= 0)
    assert np.all(kernel(u[u >= kernel.support]) == 0)
    assert np.all(kernel(u[u < kernel.support]) > 0)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda k: k.name)
def test_shift_invariance_is_as_declared(kernel):
    u = np.array([0.1, 0.2, 0.5])
    ratio = kernel(u + 0.3) / kernel(u)
    assert np.allclose(ratio, ratio[0]) == kernel.shift_invariant


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda k: k.name)
def test_weights_sum_to_one_however_far(kernel):
    u = np.array([[0.1, 0.4, 0.9], [1e4, 1e4, 2e4], [1e300, 1.1e300, 1.2e300]])
    w = kernel.weights(u)
    assert w.sum(axis=1) == pytest.approx(np.ones(3))
    assert np.all(np.diff(w, axis=1) <= 0)


def test_all_outside_the_support_share_by_nearness():
    assert KERNELS["biweight"].weights([3.0, 2.0, 2.0]).tolist() == [0.0, 0.5, 0.5]


def test_effective_size_of_equal_weights_is_their_number():
    assert effective_size(np.full((2, 5), 0.3)) == pytest.approx([5.0, 5.0])


def box(u):
    return (u < 2.0).astype(float)


@pytest.mark.parametrize(
    "profile", [lambda u: 1.0, lambda u: -u, lambda u: u * np.nan, np.exp, lambda u: 0 * u]
)
def test_profiles_that_are_no_kernels_are_refused(profile):
    with pytest.raises(ValueError, match="kernel must"):
        as_kernel(profile)


def test_as_kernel():
    assert as_kernel("gaussian") is KERNELS["gaussian"]
    assert as_kernel(KERNELS["laplace"]) is KERNELS["laplace"]
    custom = as_kernel(box)
    assert isinstance(custom, Kernel)
    assert custom.name == "box"
    for wrong in ("boxcar", 3):
        with pytest.raises(ValueError, match=r"kernel must be one of .*'gaussian'.*, got"):
            as_kernel(wrong)


def test_a_support_that_leaves_weights_beyond_it_is_refused():
    with pytest.raises(ValueError, match=r"must be 0 from its support 1\.5 on.*larger support"):
        Kernel("box", box, support=1.5)
    with pytest.raises(ValueError, match="must be positive, got 0"):
        Kernel("box", box, support=0.0)
    assert Kernel("box", box, support=2.0).support == 2.0


@pytest.mark.parametrize(
    "profile", [lambda u: 1.0 / (1.0 + u), box, lambda u: np.exp(-1e4 * u), lambda u: np.ones_like(u)]
)
def test_a_kernel_that_is_not_shift_invariant_cannot_be_said_to_be(profile):
    with pytest.raises(ValueError, match=r"must be exp\(-c u\).*leave shift_invariant at False"):
        Kernel("own", profile, shift_invariant=True)


def bad_later(answer):
    """Profile that is a good one when looked at, but gives ``answer(k)`` for more distances than that."""

    def turncoat(u):
        k = 1.0 / (1.0 + u)
        return k if u.size < 10 else answer(k)

    return turncoat


def with_last(k, value):
    k[-1] = value
    return k


WRONG_ANSWERS = {
    "nan": (lambda k: with_last(k, np.nan), r"gave nan at \d"),
    "negative": (lambda k: with_last(k, -0.5), r"gave -0.5 at \d"),
    "infinite": (lambda k: with_last(k, np.inf), r"gave inf at \d"),
    "too large": (lambda k: with_last(k, 1e200), r"gave 1e\+200 at \d"),
    "complex": (lambda k: k + 0j, r"gave an array of complex128: \["),
    "objects": (lambda k: k.astype(object), r"gave an array of object: \["),
    "strings": (lambda k: k.astype(str), r"gave an array of <U32: \["),
    "dates": (lambda k: k.astype("datetime64[s]"), r"gave an array of datetime64"),
    "too few": (lambda k: k[1:], r"gave an array of shape \(\d+,\) for distances of shape \(\d+,\)"),
    "a column": (
        lambda k: k[:, None],
        r"gave an array of shape \(\d+, 1\) for distances of shape \(\d+,\)",
    ),
    "one number": (lambda k: 1.0, r"gave 1.0, which is no array"),
    "a list": (lambda k: k.tolist(), r"gave \[.*, which is no array"),
    "nothing": (lambda k: None, r"gave None, which is no array"),
    "text": (lambda k: "weights", r"gave 'weights', which is no array"),
}


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
def test_what_a_kernel_gives_is_checked_whenever_the_engine_asks(wrong):
    answer, message = WRONG_ANSWERS[wrong]
    X = np.random.default_rng(0).normal(size=(30, 2))
    for kernel in (bad_later(answer), Kernel("turncoat", bad_later(answer))):
        with pytest.raises(ValueError, match=r"the kernel 'turncoat' " + message):
            LocalEGOPRegressor(kernel=kernel, n_iter=1).fit(X, X[:, 0])


def test_an_error_of_a_kernel_itself_passes_on():
    def broken(k):
        raise ZeroDivisionError("of the user's own")

    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ZeroDivisionError, match="of the user's own"):
        LocalEGOPRegressor(kernel=bad_later(broken)).fit(X, X[:, 0])


@pytest.mark.parametrize("kind", [np.float32, np.float16, int, bool])
def test_kernels_may_give_any_real_numbers(kind):
    X = np.random.default_rng(0).normal(size=(30, 2))
    kernel = Kernel("steps", lambda u: (u < 1.0).astype(kind), support=1.0)
    expected = Kernel("steps", lambda u: (u < 1.0).astype(float), support=1.0)
    first, second = (LocalEGOPRegressor(kernel=k, n_iter=1).fit(X, X[:, 0]) for k in (kernel, expected))
    assert np.array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_the_size_of_a_kernel_does_not_matter(factor):
    X = np.random.default_rng(0).normal(size=(40, 2))
    models = [
        LocalEGOPRegressor(kernel=lambda u, f=f: f / (1.0 + u), n_iter=1).fit(X, X[:, 0])
        for f in (1.0, factor)
    ]
    assert models[1].predict(X) == pytest.approx(models[0].predict(X), rel=1e-6)


def test_a_support_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="support of the kernel 'box' must be positive, got 'wide'"):
        Kernel("box", box, support="wide")


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_kernels_of_extreme_size_are_refused(size):
    with pytest.raises(ValueError, match="kernel must"):
        as_kernel(lambda u: size * np.exp(-u))
