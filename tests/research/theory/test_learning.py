"""Learning rates from data, with a tiny estimator, and the command that makes the table."""

import numpy as np
import pytest

import localegop
from localegop.research.theory.learning import (
    EXPERIMENTS,
    FIELDS,
    default_estimator,
    learning_rate,
    main,
    rate_table,
)
from localegop.research.theory.local_linear import IsotropicLocalLinear


class Mean:
    """Predicts the mean label."""

    def __init__(self, final=None):
        self.final = final

    def fit(self, X, y):
        self.value = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def wave(n, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 1))
    clean = np.sin(5.0 * X[:, 0] + seed)
    return X, clean + noise * rng.standard_normal(n), clean


def test_local_linear_regression_is_exact_on_planes_and_adapts():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = 1.0 + X @ [1.0, -2.0, 0.5]
    model = IsotropicLocalLinear().fit(X, y)
    np.testing.assert_allclose(
        model.predict(X[:20] * 0.5), 1.0 + 0.5 * X[:20] @ [1.0, -2.0, 0.5], atol=1e-5
    )
    noisy = IsotropicLocalLinear().fit(X, y + rng.standard_normal(400))
    bent = IsotropicLocalLinear().fit(X, np.sin(8.0 * X[:, 0]))
    assert noisy.n_neighbors_ > bent.n_neighbors_


def test_the_exponent_of_local_linear_regression_in_one_dimension():
    result = learning_rate(wave, IsotropicLocalLinear, sizes=(250, 1000, 4000), n_replicates=6, noise=0.5)
    assert result.errors.shape == (6, 3)
    assert result.low < result.rate < result.high
    assert result.low < 0.8 + 0.1 and result.high > 0.8 - 0.1  # 4 / (1 + 4)
    assert (np.diff(result.errors.mean(axis=0)) < 0).all()


def test_an_estimator_that_does_not_learn_has_rate_zero():
    result = learning_rate(wave, Mean, sizes=(200, 2000), n_replicates=4)
    assert abs(result.rate) < 0.05


def test_the_default_estimator_is_the_regressor_of_the_package(monkeypatch):
    monkeypatch.setattr(localegop, "LocalEGOPRegressor", Mean, raising=False)
    made = default_estimator()()
    assert isinstance(made, Mean) and made.final == "polynomial"
    assert learning_rate(wave, sizes=(20, 40), n_replicates=2, n_test=10).errors.shape == (2, 2)
    monkeypatch.setattr(localegop, "LocalEGOPRegressor", None, raising=False)
    with pytest.raises(ImportError, match="pass make_estimator"):
        learning_rate(wave, sizes=(20, 40), n_replicates=2)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_give_data_and_predictions(name):
    experiment = EXPERIMENTS[name]
    X, y, clean = experiment.sample(50, 0.1, 3)
    again = experiment.sample(50, 0.1, 3)
    assert X.shape[0] == len(y) == len(clean) == 50
    np.testing.assert_array_equal(X, again[0])
    assert 0.0 < np.std(y - clean) < 0.3 * np.std(clean)
    assert 0.0 < experiment.isotropic < 1.0 and experiment.paper <= experiment.rank + 1e-12


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="at least two different sizes"):
        learning_rate(wave, Mean, sizes=(100, 100))
    with pytest.raises(ValueError, match="n_replicates=1"):
        learning_rate(wave, Mean, n_replicates=1)
    with pytest.raises(ValueError, match="experiment 'moebius' is not known"):
        rate_table({"mean": Mean}, ["moebius"])


def test_the_command_writes_the_table(tmp_path, capsys):
    file = tmp_path / "rates.csv"
    size = ["--sizes", "100", "200", "--replicates", "2"]
    main(
        ["--estimators", "local-linear", "--experiments", "helix 3", "sphere", *size, "--output", str(file)]
    )
    assert capsys.readouterr().out.count("local-linear") == 2
    lines = file.read_text().splitlines()
    assert lines[0] == ",".join(FIELDS) and len(lines) == 3
    with pytest.raises(SystemExit):
        main(["--estimators", "nothing"])
