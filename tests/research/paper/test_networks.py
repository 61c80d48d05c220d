"""Networks, transformer, and the experiments `networks`, `dimensions` and `malonaldehyde`."""

import numpy as np
import pytest

from localegop.datasets import make_annulus, make_helix
from localegop.research.paper import dimensions, malonaldehyde, networks
from localegop.research.paper._learning_curves import curve, helix_split, slope
from localegop.research.paper._malonaldehyde_findings import make_molecule_method
from localegop.research.paper._molecules import molecule, split_rows
from localegop.research.paper._transformer import embedding_weights
from localegop.research.paper.experiment import Refused, Skipped, table_of_rows
from localegop.research.peers.networks import FAMILIES, Family, TunedNetwork
from localegop.research.peers.optional import require

NO_TORCH = "torch is missing: pip install 'localegop[paper]'"


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason=NO_TORCH)


def family(**changes):
    grid = {"widths": (12,), "learning_rates": (3e-3,), "weight_decays": (0.0,), "batch_sizes": (16,)}
    return Family("small", "gelu", **{**grid, **changes})


def test_the_paper_grid_is_the_paper_grid():
    assert FAMILIES["relu"].n_members == FAMILIES["gelu"].n_members == 7 * 2 * 3 * 3
    assert FAMILIES["wide"].widths == (100_000,) and FAMILIES["wide"].patience == 300
    assert FAMILIES["relu"].restrict(widths=[64]).n_members == 18
    assert FAMILIES["relu"].output_variance == "1/sqrt(m)"
    with pytest.raises(ValueError, match=r"output_variance='1' is not allowed: give one of '1/sqrt\(m\)'"):
        family(output_variance="1")


@pytest.mark.extras
def test_the_output_layer_starts_with_the_variance_that_is_named(torch):
    from localegop.research.peers.networks import _Stack

    m = 4096
    for name, variance in {"1/sqrt(m)": m**-0.5, "1/m": 1.0 / m}.items():
        stack = _Stack(torch, family(output_variance=name), m, 3, 1, 0)
        output = stack.parameters.detach()[0].split([3 * m, m, m, 1])[2]
        assert float(output.var()) == pytest.approx(variance, rel=0.1)


@pytest.mark.extras
def test_a_stack_is_the_same_as_its_networks_one_by_one(torch):
    X, y = make_helix(100, 4, random_state=0)
    grid = {"learning_rates": (1e-3, 1e-2), "weight_decays": (0.0, 1e-2)}
    together = TunedNetwork(family(**grid), max_epochs=4).fit(X, y)
    pairs = [(rate, decay) for rate in grid["learning_rates"] for decay in grid["weight_decays"]]
    for k, (rate, decay) in enumerate(pairs):
        alone = TunedNetwork(family(learning_rates=(rate,), weight_decays=(decay,)), max_epochs=4).fit(X, y)
        np.testing.assert_allclose(together.predict_all(X)[k], alone.predict(X), rtol=1e-3, atol=1e-4)
        assert together.members_[k].validation_error == pytest.approx(
            alone.members_[0].validation_error, rel=1e-3
        )
    assert together.best_ == np.argmin([each.validation_error for each in together.members_])
    np.testing.assert_array_equal(together.predict(X), together.predict_all(X)[together.best_])


@pytest.mark.extras
def test_training_is_that_of_adam(torch):
    from localegop.research.peers.networks import _Data, _Stack, _train

    rng = torch.Generator().manual_seed(0)
    X, y = torch.randn(40, 3, generator=rng), torch.randn(40, generator=rng)
    settings = TunedNetwork(family(), max_epochs=3, random_state=1)
    stack = _Stack(torch, settings.family, 12, 3, 1, 0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 12), torch.nn.GELU(), torch.nn.Linear(12, 1))
    W, b, v, c = stack.parameters.detach()[0].split([36, 12, 12, 1])
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), (W.reshape(3, 12).T, b, v[None], c), strict=True):
            parameter.copy_(value)
    adam = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-2)
    shuffle, best = torch.Generator().manual_seed(2), []
    for _ in range(3):
        for batch in torch.randperm(40, generator=shuffle).split(16):
            adam.zero_grad()
            torch.nn.functional.mse_loss(model(X[batch])[:, 0], y[batch]).backward()
            adam.step()
        with torch.no_grad():
            best.append(float(((model(X)[:, 0] - y) ** 2).mean()))
    errors, epochs, acted = _train(torch, stack, _Data(X, X, y, y), 16, [(3e-3, 1e-2)], settings)
    assert acted == [False]
    assert errors[0] == pytest.approx(min(best), rel=1e-4)
    assert epochs[0] == 1 + np.argmin(best)


@pytest.mark.extras
def test_training_stops_when_patience_ends(torch):
    X, y = make_helix(60, 3, random_state=0)
    pure_noise = np.random.default_rng(0).permutation(y)
    model = TunedNetwork(family(learning_rates=(0.05,), patience=3), max_epochs=500).fit(X, pure_noise)
    longer = TunedNetwork(family(learning_rates=(0.05,), patience=40), max_epochs=500).fit(X, pure_noise)
    assert model.members_[0].epochs <= longer.members_[0].epochs < 500
    assert longer.members_[0].validation_error <= model.members_[0].validation_error
    assert model.members_[0].patience_acted and longer.members_[0].patience_acted
    short = TunedNetwork(family(learning_rates=(0.05,), patience=40), max_epochs=5).fit(X, pure_noise)
    assert not short.members_[0].patience_acted


@pytest.mark.extras
def test_a_multi_index_network_sees_its_directions_only(torch):
    X, y = make_helix(80, 5, random_state=0)
    for rank, expected in ((2, 2), (None, 5)):
        model = TunedNetwork(family(rank=rank), max_epochs=5).fit(X, y)
        steps = 1e-2 * np.eye(5)
        slopes = np.stack([model.predict(X + step) - model.predict(X - step) for step in steps], axis=1)
        spectrum = np.linalg.svd(slopes, compute_uv=False)
        assert np.count_nonzero(spectrum > 2e-3 * spectrum[0]) == expected


@pytest.mark.extras
def test_networks_leave_torch_as_it_was(torch):
    X, y = make_helix(50, 3, random_state=0)
    before = torch.get_num_threads(), torch.get_rng_state().tolist()
    TunedNetwork(family(), max_epochs=1).fit(X, y).predict(X)
    assert (torch.get_num_threads(), torch.get_rng_state().tolist()) == before


@pytest.mark.extras
def test_embedding_weights(torch):
    pytest.importorskip("rtdl_revisiting_models", reason="rtdl_revisiting_models is missing")
    X, y = make_annulus(96, noise_std=0.05, random_state=0)
    before = torch.get_num_threads(), torch.get_rng_state().tolist()
    settings = {"epochs": 4, "batch_size": 32, "every": 5, "n_blocks": 1}
    found = embedding_weights(X, y, [1.0, 0.0], **settings)
    assert found["step"] == [0, 5, 10]
    assert found["weights"].shape == (3, 96) and len(found["loss"]) == 3
    np.testing.assert_allclose(found["weights"].sum(axis=1), 1.0)
    assert np.abs(found["weights"][1] - found["weights"][0]).max() > 1e-5
    np.testing.assert_array_equal(
        found["weights"], embedding_weights(X, y, [1.0, 0.0], **settings)["weights"]
    )
    own = embedding_weights(X, y, X[7], **settings)["weights"]
    assert (own.argmax(axis=1) == 7).all()
    assert (torch.get_num_threads(), torch.get_rng_state().tolist()) == before


def test_embedding_weights_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match=r"got \(4, 2\), \(3,\) and \(2,\)"):
        embedding_weights(np.zeros((4, 2)), np.zeros(3), [0, 0])
    with pytest.raises(ValueError, match="every=0 is not allowed: give an integer >= 1"):
        embedding_weights(np.zeros((4, 2)), np.zeros(4), [0, 0], every=0)


def test_a_missing_module_is_named_with_its_extra():
    with pytest.raises(
        ImportError, match=r"the net needs no_such_module: pip install 'localegop\[paper\]'"
    ):
        require("no_such_module", "paper", "the net")


def test_replicates_share_test_points_and_nest_training_rows():
    small, large = (helix_split(3, n, [30, 60], 20, 0, 1) for n in (30, 60))
    np.testing.assert_array_equal(small.X_test, large.X_test)
    np.testing.assert_array_equal(small.X, large.X[:30])
    assert not np.array_equal(small.y_test, helix_split(3, 30, [30, 60], 20, 0, 2).y_test)
    assert small.mse(np.full(20, small.y_test.mean())) == pytest.approx(1.0)


def test_noise_of_replicates_is_in_the_training_labels_only():
    clean, noisy = (helix_split(3, 4000, [4000], 20, 0, 1, noise) for noise in (0.0, 0.1))
    np.testing.assert_array_equal(clean.X, noisy.X)
    np.testing.assert_array_equal(clean.y_test, noisy.y_test)
    assert np.std(noisy.y - clean.y) == pytest.approx(0.1 * clean.y.std(), rel=0.05)


def power_laws(exponents, **more):
    return table_of_rows(
        {**more, "n": n, "rep": rep, "mse": 3.0 * n**exponent, "best_test_mse": n**exponent}
        for rep, exponent in enumerate(exponents)
        for n in (100, 200, 400)
    )


def test_slopes_and_curves_of_power_laws():
    rows = power_laws([-2.0, -3.0])
    assert slope(rows) == pytest.approx((-2.5, 0.5))
    assert curve(rows).mean == pytest.approx(3.0 * np.array([100, 200, 400]) ** -2.5)
    assert slope(power_laws([-1.0]))[0] == pytest.approx(-1.0)


def test_dimensions_say_where_slopes_differ():
    parameters = dimensions.PARAMETERS["quick"]
    exponents = {4: (-2.0, -2.1), 6: (-2.05, -2.1), 10: (-3.0, -3.1), 3: (-1.0, -1.1), 5: (-1.05, -1.1)}
    tables = {str(D): power_laws(pair, setting="paper", D=D) for D, pair in exponents.items()}
    even, odd = dimensions.findings(tables, parameters)
    assert even.agrees == "in part" and "not so for D = 4 and 10; 6 and 10" in even.ours
    assert odd.agrees == "yes"
    vague = {str(D): power_laws((-1.0, -3.0), setting="paper", D=D) for D in (4, 6)}
    (finding,) = dimensions.findings(vague, parameters)
    assert finding.agrees == "in part" and "too large to tell" in finding.ours
    assert dimensions.draw(tables, parameters)["dimensions"].axes
    late = {**parameters, "settings": {"paper": {**parameters["settings"]["paper"], "slope_from": 40}}}
    assert list(dimensions.slopes(tables["4"], "paper", late)) == [4]
    assert list(dimensions.slopes(tables["10"], "paper", late)) == []
    ours = {str(D): power_laws(pair, setting="field", D=D) for D, pair in exponents.items()}
    assert {each.agrees for each in dimensions.findings(ours, parameters)} == {"not compared"}


def test_dimensions_tell_when_the_verdict_hangs_on_the_range():
    def bent(D, early):  # early slope up to n = 800, then -2
        exponents = {200: early, 400: early, 800: 0.0, 1600: -2.0, 3200: -4.0}
        return table_of_rows(
            {"setting": "paper", "D": D, "n": n, "rep": rep, "mse": 2.0**e * (1 + 0.01 * rep * np.log(n))}
            for rep in range(2)
            for n, e in (
                (n, e if n >= 800 else 2 * -early * np.log2(800 / n)) for n, e in exponents.items()
            )
        )

    settings = {
        "paper": {"sizes": [200, 400, 800, 1600, 3200], "n_test": 9, "replicates": 2, "slope_from": 200}
    }
    parameters = {"dimensions": [4, 6], "settings": settings}
    tables = {"4": bent(4, -1.0), "6": bent(6, -3.0)}
    (finding,) = dimensions.findings(tables, parameters)
    assert finding.agrees == "in part"
    late, everywhere = finding.ours.split("over all n")
    assert "all pairs agree" in late and "not so for D = 4 and 6" in everywhere


def network_tables(errors):
    rows = {"n": max(networks.PARAMETERS["quick"]["sizes"]), "rep": 0, "n_test": 500, "chosen": ""}
    rows["patience_acted"] = 0.5
    return {
        method: table_of_rows(
            [{"method": method, **rows, "mse": 2 * error, "error": error / 5, "best_test_mse": error}]
        )
        for method, error in errors.items()
    }


@pytest.mark.parametrize(("error", "agrees"), [(1e-4, "no"), (1e-6, "yes")])
def test_only_algorithm_1_is_compared_with_the_papers_claim_about_networks(error, agrees):
    parameters = networks.PARAMETERS["quick"]
    tables = network_tables({"paper_egop": error, "relu": 1e-3, "gelu": 5e-4, "kernel_ridge": 2e-6})
    (against,) = networks.findings(tables, parameters)
    assert against.agrees == agrees and "5.0e-04" in against.ours and "GELU" in against.ours
    assert against.claim.split(" is ")[0].endswith("Algorithm 1")
    ours = network_tables({"local_egop": error, "relu": 1e-3, "gelu": 5e-4, "kernel_ridge": 2e-6})
    assert {each.agrees for each in networks.findings(ours, parameters)} == {"not compared"}
    assert networks.draw(tables, parameters)["networks"].axes
    summary = networks.summary(tables, parameters)
    assert summary["largest standard error"][0] == "10%"
    assert "50% (n = 5,200)" in summary["stopped by patience"][0]


def test_the_better_start_of_the_output_layer_counts():
    parameters = networks.PARAMETERS["quick"]
    tables = network_tables({"wide": 9e-3, "wide_small_start": 1e-3, "multi_index": 2e-3})
    (finding,) = networks.findings(tables, parameters)
    assert finding.agrees == "in part" and "1.0e-03 with width 2,048" in finding.ours


def test_networks_need_torch_for_networks_only():
    assert networks.needs("relu-n=60-rep=0") == ("torch",)
    assert networks.needs("xrfm-n=60-rep=0") == ("torch", "xrfm")
    assert networks.needs("kernel_ridge-n=60-rep=0") == ()
    assert malonaldehyde.needs("rmd17-random-tau1-xrfm-rep=0") == ("torch", "xrfm")
    assert malonaldehyde.needs("map-rmd17") == ()


def test_blocks_of_time_keep_apart_what_random_splits_mix():
    data = molecule("shipped")
    time = np.empty(len(data.X), dtype=int)
    time[data.in_time] = np.arange(len(data.X))
    gaps = {}
    for kind in ("random", "blocks"):
        train, test = split_rows(data, kind, None, 500, seed=0)
        assert len(test) == 500 and not set(train) & set(test)
        gaps[kind] = np.abs(np.subtract.outer(time[test], time[train])).min(axis=1)
    assert np.median(gaps["random"]) == 1 and np.median(gaps["blocks"]) > 20
    assert len(split_rows(data, "blocks", 70, 500, seed=0)[0]) == 70
    with pytest.raises(ValueError, match="split='odd' is not allowed: give one of 'random', 'blocks'"):
        split_rows(data, "odd", None, 10, 0)


def test_revised_md17_is_skipped_or_refused(monkeypatch, tmp_path):
    monkeypatch.delenv("LOCALEGOP_DATA", raising=False)
    with pytest.raises(Skipped, match="LOCALEGOP_DATA"):
        molecule("rmd17")
    monkeypatch.setenv("LOCALEGOP_DATA", str(tmp_path))
    with pytest.raises(Refused, match=r"rmd17_malonaldehyde\.npz is missing") as refusal:
        molecule("rmd17")
    assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="source='aspirin' is not allowed: give one of 'shipped', 'rmd17'"):
        molecule("aspirin")


def molecule_tables(errors):
    row = {
        "source": "rmd17",
        "split": "random",
        "torsion": "tau1",
        "rep": 0,
        "n_train": 9133,
        "n_test": 500,
    }
    return {
        method: table_of_rows(
            [row | {"method": method, "mse": mse, "error": mse / 10, "median": mse / 5, "isolated": 0}]
        )
        for method, mse in errors.items()
    }


def test_malonaldehyde_agrees_only_near_the_numbers_of_the_paper_and_for_its_method():
    parameters = malonaldehyde.PARAMETERS["default"]
    good = {"paper_egop": 4.5e-4, "local_egop": 2.5e-4, "nadaraya_watson": 0.0128, "kernel_ridge": 1e-3}
    found = malonaldehyde.findings(molecule_tables(good), parameters)
    assert [each.agrees for each in found] == ["yes", "not compared", "yes", "not compared"]
    bad = {"paper_egop": 8e-3, "local_egop": 4.3e-4, "nadaraya_watson": 0.02, "kernel_ridge": 1e-3}
    found = malonaldehyde.findings(molecule_tables(bad), parameters)
    assert [each.agrees for each in found] == ["no", "not compared", "no", "not compared"]
    far_below = malonaldehyde.findings(molecule_tables({"paper_egop": 1e-4}), parameters)
    assert [each.agrees for each in far_below] == ["no"]
    summary = malonaldehyde.summary(molecule_tables(good), parameters)
    assert summary["method"][0] == "Algorithm 1"
    assert summary["revised MD17, random, tau1"][0] == "4.5e-04 ± 4e-05"


def test_settings_of_algorithm_1_within_the_papers_text():
    wide = make_molecule_method("paper_egop_wide", tuning_rows=10, random_state=0, threads=1)
    printed = make_molecule_method("paper_egop", tuning_rows=10, random_state=0, threads=1)
    changed = {key for key, value in printed.get_params().items() if wide.get_params()[key] != value}
    assert changed == {"exclusion_radius"} and wide.exclusion_radius == 3.2


def test_figures_do_with_few_parts():
    parameters = malonaldehyde.PARAMETERS["default"]
    assert list(malonaldehyde.draw(molecule_tables({"local_egop": 1e-3}), parameters)) == ["malonaldehyde"]
    assert list(networks.draw(network_tables({"xrfm": 1e-3}), networks.PARAMETERS["full"])) == ["networks"]
    assert networks.findings(network_tables({"xrfm": 1e-3}), networks.PARAMETERS["quick"]) == []
    assert (
        dimensions.findings({"3": power_laws([-1.0], setting="paper", D=3)}, dimensions.PARAMETERS["full"])
        == []
    )


def test_paper_case_is_repeated_over_splits():
    names = malonaldehyde.parts(malonaldehyde.PARAMETERS["default"])
    assert sum(name.startswith("rmd17-random-tau1-local_egop-") for name in names) == 3
    assert sum(name.startswith("rmd17-blocks-tau1-local_egop-") for name in names) == 1
