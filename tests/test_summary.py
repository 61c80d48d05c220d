"""What a fit says in words: summary, short reprs, warnings."""

import numpy as np
import pandas as pd
import pytest

from localegop import Choice, LocalEGOPRegressor
from localegop._engine.final_fits import Polynomial
from localegop._summary import _neighborhood_text, outlying_rows
from localegop.datasets import make_helix

X, Y = make_helix(200, 3, noise=0.05, random_state=0)
QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "n_jobs": 1}


def fit(X=X, y=Y, **parameters):
    return LocalEGOPRegressor(**QUICK | parameters).fit(X, y)


def lines(model):
    """Lines of a summary by their labels."""
    first, *rest = model.summary().splitlines()
    assert first == "LocalEGOPRegressor" and all(line.startswith("  ") for line in rest)
    return {line.strip().split("  ")[0]: line.strip().split("  ", 1)[1].strip() for line in rest}


def test_summary_of_a_fit_with_steps():
    model = fit()
    told = lines(model)
    assert told["rows"] == "200" and told["features"] == "3" and told["target"] == "y"
    assert told["units"].startswith("axes turned and scaled by the slopes")
    assert f"{model.choice_.error:.3g} of the label variance" in told["error"]
    assert f"{model.gain_over_isotropic_:.3g} times" in told["gain"]
    assert told["noise"].startswith(f"{np.sqrt(np.mean(model.loo_residuals_**2)):.4g} ")
    assert "200 rows" in told["intervals"] and "localize" in told["read next"]
    assert "outlying rows" not in told


def test_summary_says_where_no_local_steps_were_used():
    told = lines(fit(n_iter=0, initial_metric="variance"))
    assert told["neighborhoods"].startswith("step 0: one metric everywhere")
    assert told["units"] == "features divided by their standard deviations"
    learned = _neighborhood_text(Choice(2, 60.0, Polynomial(1, 0, 1e-2)), "field")
    assert learned == "a metric for each place, learned in 2 steps; effective size 60 rows"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"degree": "auto", "final": "kriging"}, "kriging: a small "),
        ({"degree": 0}, "local mean fit"),
        ({"degree": 1}, "local linear fit, ridge 1.0e-02"),
        ({"degree": 2}, "local quadratic fit, ridge 1.0e-02, bent along "),
    ],
)
def test_summary_names_the_final_fit(parameters, words):
    assert lines(fit(**parameters))["final fit"].startswith(words)


def test_summary_with_names_and_outputs_of_their_own():
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    model = fit(frame, pd.DataFrame({"u": Y, "v": X[:, 0]}), outputs="separate")
    told = lines(model)
    assert told["features"] == "3: one, two, three" and told["targets"] == "u, v"
    assert {"final fit of u", "final fit of v", "gain of v"} <= set(told)


def test_summary_of_the_query_strategy():
    model = fit(strategy="query", n_subsamples=20)
    told = lines(model)
    assert "for each query" in told["neighborhoods"] and "nothing was compared" in told["error"]
    assert told["noise"] == "known at queries only with this strategy"


def test_summary_survives_a_file(tmp_path):
    model = fit()
    model.save(tmp_path / "model")
    assert LocalEGOPRegressor.load(tmp_path / "model").summary() == model.summary()


def test_outlying_rows_are_named():
    far = X.copy()
    far[17, 1], far[90, 2] = 1e6, -1e7
    model = fit(far)
    assert lines(model)["outlying rows"].startswith(
        "2 more than 50 robust standard deviations out: 17, 90 ("
    )
    weight = np.ones(200)
    weight[17] = 0.0  # left out of the fit
    alone = LocalEGOPRegressor(**QUICK).fit(far, Y, sample_weight=weight)
    assert outlying_rows(alone._models[0]).tolist() == [90]
    assert len(outlying_rows(fit()._models[0])) == 0


def test_gain_is_nan_where_nothing_was_compared():
    assert np.isnan(fit(strategy="query", n_subsamples=20).gain_over_isotropic_)
    both = fit(y=np.column_stack([Y, Y]), outputs="separate", strategy="query", n_subsamples=20)
    assert np.isnan(both.gain_over_isotropic_).tolist() == [True, True]


def test_three_rows_are_fitted_with_a_warning():
    with pytest.warns(UserWarning, match="only 3 distinct rows to fit") as caught:
        LocalEGOPRegressor(n_jobs=1).fit([[0.0], [1.0], [2.0], [2.0]], [0.0, 1.0, 2.0, 2.0])
    assert caught[0].filename == __file__


def test_short_reprs():
    fits = fit().localize(X[:7], trace=True)
    assert repr(fits) == (
        "LocalFits(queries=7, features=3, outputs=y, "
        f"Trace(steps={len(fits.trace.value)}, queries=7, features=3))\n  OK 7"
    )
    neighbors = fits.neighbors(0)
    assert repr(neighbors).startswith(f"Neighbors(rows={len(neighbors)}, heaviest={{0: ")
    assert len(repr(neighbors)) < 100 and repr(neighbors).endswith(", ...})")
    assert "outputs=y0, y1" in repr(fit(y=np.column_stack([Y, Y])).localize(X[:2]))
