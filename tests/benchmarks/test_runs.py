"""Plans of cells, and results that are kept."""

from dataclasses import replace

from comparison import runs
from comparison.datasets import DATASETS
from tests.benchmarks.examples import cell

from localegop.research.runs import workers
from localegop.research.runs.workers import Outcome

PLAN = {"seeds": 1, "tuning_rows": 50, "threads": 1}


def test_a_plan_has_every_size_once_and_the_largest_for_all():
    sizes = DATASETS["malonaldehyde_md17"].full.train
    planned = runs.plan(["malonaldehyde_md17"], ["local_egop", "mlkr"], quick=False, **PLAN)
    assert [c.n_train for c in planned if c.method == "local_egop"] == list(sizes)
    assert [c.n_train for c in planned if c.method == "mlkr"] == [1000, sizes[-1]]
    scale = runs.plan(["helix_200k"], ["local_egop", "kernel_ridge"], quick=False, **PLAN)
    assert [c.method for c in scale] == ["local_egop"]
    given = runs.plan(["diabetes"], ["forest"], n_train=[40, 80], quick=True, **PLAN | {"seeds": 2})
    assert [(c.n_train, c.seed) for c in given] == [(40, 0), (80, 0), (40, 1), (80, 1)]
    assert len({c.key for c in given}) == 4


def test_finished_cells_are_kept_and_failed_ones_run_again(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    results = runs.Results(path, "quick")
    wanted = [cell(seed=seed) for seed in range(3)]
    errors = iter([None, workers.TimeLimit("late"), RuntimeError("gone")])

    def pretend(parts, jobs, started, limit):
        for part in parts:
            record = vars(part.arguments[0]) | {"status": "ok", "warnings": 0, "memory_gb": 1.0}
            record |= {"mse_over_variance": 1.0, "fit_seconds": 1.0, "predict_seconds_per_1000": 1.0}
            error = next(errors)
            yield Outcome(part.name, value=None if error else record, error=error)

    monkeypatch.setattr(workers, "side_by_side", pretend)
    lines = []
    runs.run_cells(results, wanted, jobs=1, time_limit=1.0, say=lines.append)
    assert len(lines) == 3 and lines[0].startswith("[1/3, ")
    stored = runs.Results.load(path)
    assert stored.pending(wanted, 1.0) == wanted[2:]
    assert stored.pending(wanted, 2.0) == wanted[1:]
    assert stored.pending([replace(wanted[0], tuning_rows=7)], 1.0)
    assert stored.pending(wanted, 1.0, again=["neighbors"]) == wanted
