"""The paper's experiments: a smoke test of each, and what some of their parts compute."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop.datasets import make_noisy_sphere
from localegop.research.paper import EXPERIMENTS, load_experiment, mandrill
from localegop.research.paper._methods import SIDE_BY_SIDE
from localegop.research.paper.diffusion_map import share_of_angle
from localegop.research.paper.experiment import SIZES, Finding, Skipped, select_rows
from localegop.research.paper.runner import Run, execute, findings, summary

NEED_MORE = ("dimensions", "malonaldehyde")  # their claims compare more cases than "tiny" has


def silent(line):
    pass


def marks(name):
    """Mark of an experiment that has parts which need more packages."""
    return [pytest.mark.extras] * hasattr(load_experiment(name), "needs")


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in EXPERIMENTS])
def test_smoke(name, tmp_path):
    run = Run(name, "tiny", output=tmp_path)
    result = execute(run, say=silent)
    if not result.refused:
        assert set(result.tables) | set(run_skips(run, result)) == set(
            load_experiment(name).parts(run.parameters)
        )
    assert result.figures
    for figure in result.figures:
        assert figure.read_bytes().startswith(b"\x89PNG") and figure.stat().st_size > 5000
        assert figure.stem in load_experiment(name).CAPTIONS
    found = findings(run, result.tables)
    assert all(isinstance(each, Finding) for each in found)
    assert found or name in NEED_MORE
    columns = {len(column) for column in summary(run, result.tables).values()}
    assert len(columns) <= 1


def run_skips(run, result):
    """Parts that do not apply here."""
    return (
        set(load_experiment(run.name).parts(run.parameters)) - set(result.tables) if result.skipped else ()
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_contract(name):
    experiment = load_experiment(name)
    assert set(experiment.PARAMETERS) == set(SIZES)
    keys = {size: set(parameters) for size, parameters in experiment.PARAMETERS.items()}
    assert len({frozenset(each) for each in keys.values()}) == 1
    for parameters in experiment.PARAMETERS.values():
        assert json.loads(json.dumps(parameters)) == parameters
        assert all(cost > 0 for cost in experiment.parts(parameters).values())
    assert all(figure == name or figure.startswith(f"{name}_") for figure in experiment.CAPTIONS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_missing_parts_are_no_error(name, tmp_path):
    experiment, parameters = load_experiment(name), load_experiment(name).PARAMETERS["tiny"]
    needs = getattr(experiment, "needs", lambda part: ())
    part = next(part for part in experiment.parts(parameters) if all(map(find_spec, needs(part))))
    try:
        tables = {part: experiment.compute(part, parameters, 0, 1)}
    except Skipped:
        pytest.skip("the first part does not apply here")
    experiment.draw(tables, parameters)
    experiment.findings(tables, parameters)


# Patches, rings


def test_patches_follow_the_stripes_of_an_image_with_both_schedules(tmp_path, stripes, image_file):
    changes, tag = mandrill.image_parameters(image_file(tmp_path / "a b.png", stripes()))
    assert tag == "a_b"
    result = execute(Run("mandrill", "tiny", output=tmp_path, changes=changes, tag=tag), say=silent)
    for schedule, longer in {"paper": 4.0, "sizes": 9.0}.items():
        table = select_rows(result.tables[f"point1-{schedule}"], kind="heaviest")
        values, vectors = np.linalg.eigh(np.cov(np.vstack([table["row"], table["column"]])))
        assert values[1] > longer * values[0]
        assert abs(vectors[:, 1] @ [1.0, -1.0]) > 0.98 * np.sqrt(2.0)
    assert (tmp_path / "mandrill" / "tiny-seed0-a_b" / "mandrill.png").exists()


def test_edge_points_sit_on_edges_and_apart():
    gray = np.zeros((200, 300))
    gray[:, 100:] = 1.0
    points = mandrill.edge_points(gray, 3)
    assert np.all(np.abs(points[:, 1] - 99.5) <= 3)
    gaps = np.abs(points[:, None, 0] - points[None, :, 0])[np.triu_indices(3, 1)]
    assert gaps.min() > 30


def test_large_images_are_shrink(stripes):
    large = stripes((1300, 700), 200.0)
    small = mandrill._shrink(large, 600)
    assert small.shape == (433, 233)
    assert np.isclose(small.mean(), large[:1299, :699].mean())


def test_share_of_angle():
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(0.6, 1.8, 4000), rng.uniform(-0.2, 0.2, 4000)
    table = {
        "kind": np.repeat("sample", 4000), "x1": radius * np.cos(angle), "x2": radius * np.sin(angle),
    }  # fmt: skip
    assert share_of_angle(table | {"distance": np.abs(angle)}) > 0.99
    assert share_of_angle(table | {"distance": radius}) < 0.05


# Like with like


def test_every_experiment_has_the_three_methods_side_by_side():
    for name in EXPERIMENTS:
        experiment = load_experiment(name)
        for size in ("quick", "default", "full"):
            text = " ".join(experiment.parts(experiment.PARAMETERS[size]))
            wanted = ("paper-", "linear-", "field-") if name == "dimensions" else SIDE_BY_SIDE
            assert all(method in text for method in wanted), (name, size)


def test_errors_side_by_side_are_those_of_the_same_rows(tmp_path):
    run = Run("sphere", "tiny", output=tmp_path)
    tables = execute(run, parts="errors-*", say=silent).tables
    X, y = make_noisy_sphere(84, 3, radius=0.5, random_state=0)
    model = LocalEGOPRegressor(**LocalEGOPRegressor.paper_parameters(), random_state=0).fit(X[4:], y[4:])
    squares = (model.localize(X[:4]).value - y[:4]) ** 2 / y[:4].var()
    assert tables["errors-paper_egop"]["mse"][0] == pytest.approx(squares.mean(), rel=1e-9)
    assert tables["errors-paper_egop"]["error"][0] == pytest.approx(squares.std(ddof=1) / 2.0, rel=1e-9)
    shown = summary(run, tables)
    assert list(shown["method"]) == list(SIDE_BY_SIDE.values())
    (finding,) = findings(run, tables)
    assert finding.agrees == "not compared" and "Algorithm 1" in finding.ours
