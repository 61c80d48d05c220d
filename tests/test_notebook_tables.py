"""How results show themselves in notebooks: short tables, in which any name is text."""

from html import unescape
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from localegop import LocalEGOPRegressor

NAMES = ["<script>alert(1)</script>", "a & b", "c"]
rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(120, 3)), columns=NAMES)
y = pd.Series(np.sin(2.0 * X["a & b"]) + 0.01 * X["c"], name="<i>")
QUICK = {"n_iter": 2, "n_jobs": 1, "degree": 1, "ridge": 1e-3}


def cells(shown):
    """Texts of a table's head and body, after a check that it is well-formed and holds nothing else."""
    html = shown._repr_html_()
    tree = ElementTree.fromstring(html)
    known = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {node.tag for node in tree.iter()} == known
    rows = [[unescape("".join(cell.itertext())) for cell in row] for row in tree.iter("tr")]
    return tree.findtext("caption"), rows[0], rows[1:]


@pytest.fixture(scope="module")
def model():
    return LocalEGOPRegressor(**QUICK).fit(X, y)


def test_fits(model):
    fits = model.localize(X[:14])
    caption, head, rows = cells(fits)
    assert "queries=14" in caption and caption.endswith("the first 10")
    assert head == ["query", "value", "± std", "status", "matters most here"] and len(rows) == 10
    assert rows[3][:3] == ["3", f"{fits.value[3]:.4g}", f"{fits.std[3]:.2g}"]
    assert rows[0][3] == "ok" and rows[0][4].startswith("a & b ")
    assert len(str(fits).splitlines()) == 2


def test_fits_of_several_outputs():
    both = pd.DataFrame({"u": y, "v": X["c"]})
    for outputs in ("shared", "separate"):
        fits = LocalEGOPRegressor(**QUICK, outputs=outputs).fit(X, both).localize(X[:2])
        _, head, rows = cells(fits)
        assert head == ["query", "u", "± std", "v", "± std", "status", "matters most here"]
        assert [row[3] for row in rows] == [f"{value:.4g}" for value in fits.value[:, 1]]


def test_where_f_is_flat():
    fits = LocalEGOPRegressor(**QUICK).fit(X, np.ones(120)).localize(X[:1])
    assert cells(fits)[2][0][3:] == ["flat", ""]


def test_steps_of_a_trace():
    rings = np.sin(3.0 * np.hypot(X["a & b"], X["c"]))
    trace = LocalEGOPRegressor(strategy="query", n_iter=2).fit(X, rings).localize(X[:2], trace=True).trace
    caption, head, rows = cells(trace)
    assert caption == repr(trace) and head[0] == "step"
    assert len(rows) == len(trace.metric) > 1
    assert rows[1][1] == f"{trace.effective_size[1].mean():.4g}"


def test_neighbors_and_choice(model):
    fits = model.localize(X[:2])
    near = fits.neighbors(1)
    caption, head, rows = cells(near)
    assert f"of {len(near)} training rows" in caption and head == ["row", "weight"]
    assert rows[0] == [str(near.index[0]), f"{near.weight[0]:.4g}"] and len(rows) == 10
    facts = dict(cells(model.choice_)[2])
    assert facts["error at held-out rows"] == f"{model.choice_.error:.3g} of the label variance"
    assert facts["final fit"] == repr(model.choice_.final)
