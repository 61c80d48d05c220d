"""The progress bar: stages, parts, what is shown, and that it never goes back."""

import gc
import io
import pickle
import re
import time
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from localegop import LocalEGOPRegressor, _progress
from localegop._progress import SILENT, Progress, ProgressBar
from localegop.datasets import make_helix

pytestmark = pytest.mark.usefixtures("no_ticks")
X, Y = make_helix(200, 3, random_state=0)
Y = Y + np.random.default_rng(0).normal(0.0, 0.3 * Y.std(), 200)
QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "n_jobs": 1}


def fractions(work):
    """Fractions that a bar reaches while work is done in it."""
    reached = []
    bar = ProgressBar("work", verbose=True)
    reach = bar.reach

    def note(fraction, stage):
        reach(fraction, stage)
        reached.append(bar.fraction)

    bar.reach = note
    with bar as progress:
        work(progress)
    return reached


@pytest.fixture
def no_ticks(monkeypatch):
    """Let a bar be drawn only when it moves."""
    monkeypatch.setattr(_progress, "TICK_SECONDS", 1e6)


@pytest.fixture
def show_all(monkeypatch):
    """Let a bar be drawn whenever it moves, however little time has passed."""
    ticks = iter(np.arange(0.0, 1e7))
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(ticks))
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(_progress, "REDRAW_SECONDS", 0.0)


def shown(text):
    """Percentages and stages of what was drawn."""
    lines = text.strip("\n").split("\r")[1:]
    percentages = [int(re.search(r"\] +(\d+)%", line).group(1)) for line in lines]
    stages = [line.rstrip().rsplit(", ", 1)[-1] for line in lines[:-1]]
    return percentages, stages


def test_stages_are_as_long_as_they_say():
    def work(progress):
        for stage in progress.stages(("a", 1.0), ("b", 3.0), ("c", 4.0)):
            stage.advance()

    assert fractions(work) == pytest.approx([0.125, 0.5, 1.0])


def test_parts_have_one_length_and_the_title_of_the_whole():
    def work(progress):
        _, second = progress.stages(("first", 1.0), ("second", 1.0))
        for part in second.parts(4):
            assert part.title == "second"
            part.advance()

    assert fractions(work) == pytest.approx([0.625, 0.75, 0.875, 1.0])


def test_stages_within_stages():
    def work(progress):
        outer, _ = progress.stages(("outer", 1.0), ("rest", 1.0))
        inner, _ = outer.stages(("inner", 1.0), ("rest", 3.0))
        inner.expect(2)
        inner.advance()
        inner.advance()

    assert fractions(work) == pytest.approx([0.0625, 0.125])


def test_going_over_slices_advances_after_each_by_its_length():
    seen = []

    def work(progress):
        slices = [slice(0, 5), slice(5, 6), slice(6, 10)]
        for rows in progress.over(iter(slices), 10):
            seen.append((rows, progress._bar.fraction))

    assert fractions(work) == pytest.approx([0.5, 0.6, 1.0])
    assert seen == [(slice(0, 5), 0.0), (slice(5, 6), 0.5), (slice(6, 10), 0.6)]


def test_going_over_nothing_is_no_progress():
    assert fractions(lambda progress: list(progress.over([], 0))) == []


def test_more_units_than_expected_do_not_leave_the_stretch():
    def work(progress):
        first, _ = progress.parts(2)
        first.expect(2)
        first.advance(7)

    assert fractions(work) == pytest.approx([0.5])


def test_the_bar_never_goes_back_and_stages_may_be_jumped_over():
    def work(progress):
        first, jumped, last = progress.parts(3)
        first.expect(2)
        first.advance()
        last.expect(2)
        last.advance()
        first.advance()  # late, which must not show
        jumped.advance()
        last.advance()

    assert fractions(work) == pytest.approx([1 / 6, 5 / 6, 5 / 6, 5 / 6, 1.0])


def test_progress_is_shown_only_if_asked_for_and_only_if_slow(monkeypatch):
    now = [0.0]
    drawn = io.StringIO()
    monkeypatch.setattr("localegop._progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr("localegop._progress.sys.stderr", drawn)
    for verbose, pace, expected in ((0, 10.0, False), (1, 0.001, False), (1, 10.0, True)):
        drawn.truncate(0)
        with ProgressBar("fit", verbose) as progress:
            progress.expect(10)
            for _ in range(10):
                now[0] += pace
                progress.advance(1)
        assert bool(drawn.getvalue().strip("\0")) is expected
    assert "1:30 left" in drawn.getvalue()
    assert "100%" in drawn.getvalue()


def test_a_shorter_line_covers_the_longer_one_before(capsys, show_all):
    with ProgressBar("fit", verbose=1) as progress:
        long, short = progress.stages(("a stage with a long title", 1.0), ("b", 1.0))
        long.advance()
        short.advance()
    first, second, last = capsys.readouterr().err.strip("\n").split("\r")[1:]
    assert len(second) >= len(first) > len(second.rstrip()) and len(last) >= len(second.rstrip())


def test_work_that_fails_does_not_end_at_a_hundred(capsys, show_all):
    with pytest.raises(RuntimeError), ProgressBar("fit", verbose=1) as progress:
        progress.expect(4)
        progress.advance()
        raise RuntimeError
    percentages, _ = shown(capsys.readouterr().err + "")
    assert percentages == [25, 25]


def test_silent_progress_shows_nothing(capsys, show_all):
    SILENT.expect(3)
    SILENT.advance()
    for part in SILENT.parts(2):
        part.advance()
    assert isinstance(SILENT, Progress) and capsys.readouterr().err == ""


def test_fits_and_predictions_are_silent_by_default(capsys, show_all):
    LocalEGOPRegressor(**QUICK).fit(X, Y).predict(X[:5])
    assert capsys.readouterr().err == ""


CASES = {
    "three trials": {"degree": "auto", "final": "global"},
    "two trials": {},
    "one trial": {"initial_metric": "variance"},
    "nothing to choose": {"n_iter": 0, "schedule": "power"},
    "all kinds compete": {"degree": "auto", "initial_metric": "variance"},
}


@pytest.mark.parametrize("case", CASES)
def test_the_bar_of_a_fit_rises_to_a_hundred(capsys, show_all, case):
    changed = CASES[case]
    LocalEGOPRegressor(verbose=1, **QUICK | changed).fit(X, Y)
    percentages, stages = shown(capsys.readouterr().err)
    assert percentages == sorted(percentages) and percentages[-1] == 100
    assert "units" in stages
    assert ("trials" in stages) == (case != "nothing to choose")


def test_the_bar_of_a_prediction_rises_to_a_hundred(capsys, show_all, monkeypatch):
    model = LocalEGOPRegressor(**QUICK | {"initial_metric": "variance"}).fit(X, Y)
    monkeypatch.setattr("localegop._engine.chunks.CHUNK_BYTES", 1.0)
    model.set_params(verbose=1).predict(X)
    percentages, _ = shown(capsys.readouterr().err)
    assert percentages == [32, 64, 96, 99, 100]  # full only when all is done


class Listener:
    """Notes what a callback is told."""

    def __init__(self):
        self.told = []

    def __call__(self, done, total, what):
        self.told.append((done, total, what))


def check_told(told, title):
    done = [each[0] for each in told]
    assert done[0] == 0 and done[-1] == told[0][1]
    assert all(later > sooner for sooner, later in pairwise(done))  # so total is told once, at the end
    assert len({total for _, total, _ in told}) == 1
    assert all(what.startswith(title) for _, _, what in told)


@pytest.mark.parametrize("parameters", [{}, {"strategy": "query", "n_subsamples": 20}])
@pytest.mark.parametrize("outputs", ["shared", "separate"])
def test_a_callback_is_told_of_all_work_once(parameters, outputs, capsys):
    labels = np.column_stack([Y, X[:, 0]])
    heard = Listener()
    model = LocalEGOPRegressor(outputs=outputs, callback=heard, **QUICK | parameters)
    model.fit(X, labels)
    check_told(heard.told, "fit")
    assert len(heard.told) >= 5 or parameters
    for answer in (model.predict, model.localize, model.predict_interval):
        heard.told.clear()
        answer(X[:20])
        check_told(heard.told, "predict")
    assert capsys.readouterr().err == ""


def test_a_callback_that_raises_stops_the_fit_and_leaves_the_estimator_as_it_was():
    def stop(done, total, what):
        if done > 300:
            raise RuntimeError(f"enough of {what}")

    model = LocalEGOPRegressor(**QUICK).fit(X, Y)
    before = model.predict(X[:3])
    with pytest.raises(RuntimeError, match="enough of fit: "):
        model.set_params(callback=stop).fit(-X, Y)
    assert np.array_equal(model.set_params(callback=None).predict(X[:3]), before)


def test_callbacks_can_be_cloned_and_are_no_part_of_models_or_files(tmp_path):
    callback = Listener()
    assert isinstance(clone(LocalEGOPRegressor(callback=callback)).callback, Listener)
    model = LocalEGOPRegressor(callback=lambda done, total, what: None, **QUICK).fit(X, Y)
    model.save(tmp_path / "model")
    assert LocalEGOPRegressor.load(tmp_path / "model").callback is None
    pickle.dumps(model._models)  # no trace of the lambda in there
    with pytest.raises(ValueError, match="'callback' parameter"):
        LocalEGOPRegressor(callback=3).fit(X, Y)


def test_a_bar_that_is_forgotten_is_drawn_no_more(monkeypatch):
    monkeypatch.setattr(_progress, "TICK_SECONDS", 0.02)
    bar = ProgressBar("fit", verbose=1)
    bar.__enter__()
    ticker = bar._ticker
    del bar
    gc.collect()
    ticker.join(5.0)
    assert not ticker.is_alive()


def test_the_bar_is_seen_within_a_second_even_if_nothing_moves(monkeypatch, capsys):
    monkeypatch.undo()
    assert _progress.TICK_SECONDS < 1.0
    with ProgressBar("fit", verbose=1) as progress:
        first, _ = progress.stages(("first", 1.0), ("second", 1.0))
        time.sleep(1.3)
        seen = capsys.readouterr().err
        first.advance()
    assert seen.startswith("\rfit [") and "0% 0:01" in seen
    assert "100%" in capsys.readouterr().err
