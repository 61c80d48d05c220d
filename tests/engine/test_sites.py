"""Sites: work at centers is the same alone, in chunks and for some of them, and equals direct calls."""

import numpy as np
import pytest

from localegop._engine import chunks, sites
from localegop._engine.centers import Widths
from localegop._engine.final_fits import Kriging, Polynomial, krige_all
from localegop._engine.local_data import LocalData
from localegop._engine.sites import LocalSite
from localegop._engine.work import FinalFits, KrigingFits, PolynomialFits
from localegop.kernels import as_kernel

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(90, 3))
LABELS = np.column_stack([np.sin(ROWS[:, 0]), ROWS[:, 1] * ROWS[:, 2]])
WEIGHT = 1.0 + (np.arange(90) % 2)
POINTS = np.arange(0, 90, 2)
SHAPES = np.einsum("iab,icb->iac", *2 * [RNG.normal(size=(45, 3, 3))])
PROCESSES = (Kriging(2.0, 1e-3), Kriging(4.0, 1e-1, trend=False))
WORKS = {
    "polynomials": PolynomialFits((1e-4, 1e-2), 1, (0, 2), gradients=True, variances=True),
    "values": PolynomialFits((1e-4,), 1),
    "kriging": KrigingFits(PROCESSES, 30),
    "final": FinalFits(Polynomial(2, 1, 1e-3)),
}


def local_data(threads=1, max_neighbors=60):
    options = {"kernel": as_kernel("gaussian"), "radius": None, "threads": threads}
    return LocalData(ROWS, LABELS, WEIGHT, max_neighbors=max_neighbors, **options)


def widths(count=45):
    return Widths.of_sizes((20.0,), count)


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_site_knows_its_centers():
    site = LocalSite.own(local_data(), POINTS)
    assert len(site) == 45 and site.data.n == 90
    same((site.rows, site.labels, site.sample_weight), (ROWS[POINTS], LABELS[POINTS], WEIGHT[POINTS]))
    assert site.left_out.tolist() == POINTS.tolist()


def test_polynomials_are_those_of_the_core():
    data = local_data()
    site, work = LocalSite.own(data, POINTS), WORKS["polynomials"]
    batch = data.localize(
        data.own_centers(POINTS),
        SHAPES,
        widths(),
        degree=1,
        quadratic_directions=(0, 2),
        ridges=work.ridges,
        gradients=True,
        variances=True,
    )
    found = site.run(work, SHAPES, widths())
    same(found, (batch.value, batch.gradient, batch.variance_factor))
    assert found[0].shape == (45, 1, 2, 2, 2) and found[1].shape == (45, 1, 2, 2, 2, 3)
    assert found[2].shape == (45, 1, 2, 2)


def test_kriging_and_final_fits_are_those_of_the_core():
    data = local_data()
    site, given = LocalSite.own(data, POINTS), (data, data.own_centers(POINTS), SHAPES, widths())
    batch = krige_all(PROCESSES, *given, most=30)
    same(site.run(WORKS["kriging"], SHAPES, widths()), (batch.value,))
    fit = WORKS["final"].final.fit(*given, gradients=True, variances=True)
    found = site.run(WORKS["final"], SHAPES, widths())
    same(found, (fit.value, fit.gradient, fit.variance_factor))


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_results_do_not_depend_on_chunks_or_threads(work, monkeypatch):
    whole = LocalSite.own(local_data(), POINTS).run(work, SHAPES, widths())
    monkeypatch.setattr(chunks, "SMALLEST", 7)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1.0)
    same(LocalSite.own(local_data(threads=2), POINTS).run(work, SHAPES, widths()), whole)


@pytest.mark.parametrize("max_neighbors", [60, None])
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_some_centers_have_what_they_have_among_all(work, max_neighbors):
    site, some = LocalSite.own(local_data(max_neighbors=max_neighbors), POINTS), np.array([7, 0, 44, 7])
    part = site.pick(some)
    same((part.rows, part.labels), (site.rows[some], site.labels[some]))
    assert part.left_out.tolist() == POINTS[some].tolist()
    whole = site.run(work, SHAPES, widths())
    same(part.run(work, SHAPES[some], widths(4)), tuple(each[some] for each in whole))


def test_own_labels_take_no_part():
    other = LABELS.copy()
    other[POINTS[3]] += 100.0
    changed = LocalData(
        ROWS, other, np.ones(90), kernel=as_kernel("gaussian"), max_neighbors=None, radius=None, threads=1
    )
    plain = changed.like(ROWS, LABELS, np.ones(90))
    one, two = (
        LocalSite.own(data, POINTS).run(WORKS["values"], SHAPES, widths()) for data in (plain, changed)
    )
    np.testing.assert_array_equal(one[0][3], two[0][3])
    assert not np.array_equal(one[0], two[0])


def test_few_of_many_centers_keep_the_lists_that_all_have_no_room_for(monkeypatch):
    """Each list is then searched for once, however often there is work at these centers."""
    monkeypatch.setattr(sites, "KEPT_BYTES", 4.0 * 60 * 20)
    whole, searched = LocalSite.own(local_data(), POINTS), []
    assert whole.lists is None
    some, work = np.arange(3, 23), WORKS["polynomials"]
    expected = [each[some] for each in whole.run(work, SHAPES, widths())]
    few = whole.pick(some)
    monkeypatch.setattr(few.lists, "_search", count_calls(few.lists._search, searched))
    for _ in range(2):
        same(few.run(work, SHAPES[some], widths(20)), expected)
    assert sum(searched) == 20
    assert whole.pick(np.arange(21)).lists is None


def count_calls(search, searched):
    def counting(centers):
        searched.append(len(centers))
        return search(centers)

    return counting
