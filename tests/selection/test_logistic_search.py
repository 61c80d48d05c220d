"""Which logistic processes and means there are to choose from, and what makes their probabilities."""

import json
from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPClassifier
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Logistic, Polynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.link import PLAIN, best_link, softmax
from localegop._engine.logistic_process import MOST_ROWS, LogisticProcess, SolvedLogistic
from localegop._engine.mixture import Mixture
from localegop._predict.file_rules import check_anchors, needs_all
from localegop._predict.storage import _pack_choice, _unpack_choice
from localegop._selection.global_search import as_choice
from localegop._selection.logistic_search import LONGEST, STARTS, best_logistic_processes, mixtures
from localegop._selection.losses import LogLoss, gives_probabilities


def sample(n=120, seed=0, curved=True):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    logits = 4.0 * (rows[:, 0] ** 2 - 1.0 if curved else rows[:, 0])
    return rows, np.eye(2)[(logits + rng.logistic(size=n) > 0).astype(int)], np.ones(n)


def test_the_search_finds_what_loses_less_than_where_it_began():
    given = sample()
    found, again = best_logistic_processes(*given)
    assert {one.rough for one in found} == {False, True}
    losses = [SolvedLogistic(one, *given).loo_log_loss for one in found]
    unit = found[0].length / again[0][0]
    starts = [SolvedLogistic(LogisticProcess(a * unit, b, c), *given).loo_log_loss for a, b, c in STARTS]
    assert min(losses) < min(starts)
    assert [(one.ridge, one.rough) for one in found] == [guess[1:] for guess in again]


def test_a_line_that_divides_classes_has_a_long_smooth_process():
    given = sample(300, curved=False)
    found, guesses = best_logistic_processes(*given, [(8.0, 0.1, False)])
    assert len(found) == 1 and 4.0 <= guesses[0][0] <= LONGEST


def test_guesses_from_other_axes_are_where_the_search_begins():
    rows, labels, weight = sample()
    found, guesses = best_logistic_processes(rows, labels, weight)
    there, _ = best_logistic_processes(3.0 * rows, labels, weight, guesses)
    for one, other in zip(found, there, strict=True):
        assert other.length == pytest.approx(3.0 * one.length) and other.ridge == one.ridge


def test_means_are_those_of_the_best_of_each_kind():
    first, second = as_choice(LogisticProcess(1.0, 0.1)), as_choice(LogisticProcess(2.0, 0.1, True))
    other = as_choice(GlobalKriging(3.0, 0.1))
    means = mixtures([first, second], [other])
    found = [tuple(part.process for part in one.final.parts) for one in means]
    a, b, c = first.final, second.final, other.final
    assert found == [(a, c), (a, b), (a, b, c)]
    assert mixtures([], [other]) == [] == mixtures([first], [])


def test_mixtures_are_stored_with_their_parts():
    mixed = Mixture.equal(LogisticProcess(1.0, 0.1), GlobalKriging(2.0, 0.01, True))
    choice = replace(as_choice(mixed), error=0.5)
    packed = json.loads(json.dumps(_pack_choice(choice)))
    assert _unpack_choice(packed) == choice
    assert needs_all(packed["final"]) and not needs_all(
        _pack_choice(as_choice(mixed.parts[0].process))["final"]
    )


def test_only_processes_of_the_logits_may_have_many_rows():
    logits, values = ({"final": {"kind": kind}} for kind in ("logistic process", "global"))
    check_anchors(logits, MOST_ROWS, MOST_ROWS)
    with pytest.raises(ValueError, match="2,500"):
        check_anchors(values, MOST_ROWS, MOST_ROWS)
    with pytest.raises(ValueError, match="10,000"):
        check_anchors(logits, MOST_ROWS + 1, MOST_ROWS + 1)


@pytest.mark.parametrize(
    ("parameters", "n", "may"),
    [
        ({}, MOST_ROWS, True),
        ({}, MOST_ROWS + 1, False),
        ({"final": "global"}, 500, True),
        ({"final": "logistic"}, 500, False),
        ({"max_neighbors": 50}, 500, False),
        ({"exclusion_radius": 1.0}, 500, False),
    ],
    ids=str,
)
def test_logistic_processes_compete_up_to_some_rows(parameters, n, may):
    assert LocalEGOPClassifier(**parameters)._settings().may_use_logistic_process(n) is may


def test_probabilities_that_are_right_stay_as_they_are():
    rng = np.random.default_rng(0)
    p = softmax(2.0 * rng.normal(size=(800, 3)))
    labels = np.eye(3)[[rng.choice(3, p=each) for each in p]]
    assert best_link(p, labels, np.ones(800), are_probabilities=True) == PLAIN
    assert best_link(p, labels, np.ones(800)) != PLAIN
    too_sure = softmax(3.0 * np.log(p))
    link = best_link(too_sure, labels, np.ones(800), are_probabilities=True)
    assert link != PLAIN and np.abs(link.probabilities(too_sure) - p).mean() < 0.02


def test_losses_of_right_probabilities_are_plain():
    rng = np.random.default_rng(1)
    p = softmax(2.0 * rng.normal(size=(400, 2)))
    labels = np.eye(2)[[rng.choice(2, p=each) for each in p]]
    choices = [as_choice(LogisticProcess(1.0, 0.1)), Choice(0, 30.0, Polynomial(1, 0, 0.1))]
    losses = LogLoss(labels.mean(axis=0))(choices, np.stack([p, p], axis=1), labels, np.ones(400))
    plain = -np.log(np.sum(p * labels, axis=1))
    entropy = -np.sum(labels.mean(axis=0) * np.log(labels.mean(axis=0)))
    np.testing.assert_allclose(losses[:, 0], plain / entropy, atol=1e-5)
    assert np.abs(losses[:, 1] - losses[:, 0]).max() > 0.0
    assert gives_probabilities(Choice(0, 30.0, Logistic(1, 0, 0.1))) and not gives_probabilities(choices[1])


def test_the_best_process_of_smooth_boundaries_is_found_by_a_fit():
    rows, labels, _ = sample(200)
    model = LocalEGOPClassifier(final="global", n_iter=1, n_jobs=1).fit(rows, labels[:, 1].astype(int))
    assert isinstance(model.choice_.final, LogisticProcess | Mixture)
    assert "of the logits" in model.summary()
