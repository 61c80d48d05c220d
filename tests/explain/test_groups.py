"""Features that move together: single shares are exchangeable, that of the group is not."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor

QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "n_jobs": 1}


def draw(seed, sign=1.0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    X[:, 1] = sign * (X[:, 0] + 0.1 * X[:, 1])
    return X, X[:, 0] + sign * X[:, 1] + 2.0 * X[:, 2] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_share_of_a_group_is_that_of_what_it_does_together(sign):
    model = LocalEGOPRegressor(**QUICK).fit(*draw(0, sign))
    groups = model.grouped_importance()
    assert {one.features for one in groups} == {("x0", "x1"), ("x2",), ("x3",)}
    shares = [one.importance for one in groups]
    assert sum(shares) == pytest.approx(1.0) and shares == sorted(shares, reverse=True)
    pair = next(one for one in groups if len(one.features) == 2)
    assert pair.importance == pytest.approx(0.5, abs=0.06)  # (1 + 1)^2 against 2^2


def test_groups_are_known_better_than_their_members():
    pairs, singles = [], []
    for seed in range(6):
        model = LocalEGOPRegressor(**QUICK).fit(*draw(seed))
        pairs.append(next(one for one in model.grouped_importance() if len(one.features) == 2))
        singles.append(model.global_importance()[0])
    found = np.array([one.importance for one in pairs])
    errors = np.array([one.importance_std for one in pairs])
    assert found.std(ddof=1) / found.mean() < 0.7 * np.std(singles, ddof=1) / np.mean(singles)
    assert 0.5 < np.sqrt(np.mean(errors**2)) / found.std(ddof=1) < 2.0


def test_summary_says_that_shares_are_exchangeable():
    text = LocalEGOPRegressor(**QUICK).fit(*draw(0)).summary()
    assert "exchangeable" in text and "x0, x1 move together" in text
    X, y = draw(0)
    assert "exchangeable" not in LocalEGOPRegressor(**QUICK).fit(X[:, 1:], y).summary()


def test_correlation_must_be_one():
    model = LocalEGOPRegressor(**QUICK).fit(*draw(0))
    assert len(model.grouped_importance(correlation=1.0)) == 4
    for wrong in (0.0, 1.5):
        with pytest.raises(ValueError, match=rf"correlation must lie in \(0, 1\], got {wrong}"):
            model.grouped_importance(correlation=wrong)
