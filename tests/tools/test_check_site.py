"""The check of the built site finds what is broken, and nothing else."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import check_site


def found(folder, **pages):
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return list(check_site.broken(check_site.read(folder.resolve())))


def test_good_links_pass(tmp_path):
    one = '<a href="two.html#here">2</a> <a href="#top">top</a> <h1 id="top">x</h1> <a href="https://semver.org">s</a>'
    assert found(tmp_path, one=one, two='<p id="here">x</p>') == []


def test_missing_pages_anchors_and_pictures_are_named(tmp_path):
    wrong = found(
        tmp_path, one='<a href="two.html#there">2</a><img src="no.png"><a href="none.html">3</a>', two=""
    )
    assert len(wrong) == 3
    assert sum("has no such anchor" in line for line in wrong) == 1


def test_what_is_loaded_from_elsewhere_is_named(tmp_path):
    assert "another host" in found(tmp_path, one='<script src="https://cdn.example/x.js"></script>')[0]


def test_methods_that_a_page_leaves_out_are_named(tmp_path):
    (tmp_path / "generated").mkdir()
    page = tmp_path / "generated" / "localegop.LocalEGOPClassifier.html"
    names = set(check_site.own_members(check_site.pkgutil.resolve_name(page.stem)))
    assert {"predict_proba", "localize", "explore", "load", "feature_importances_"} <= names
    assert not names & {"score", "get_params", "classes_"}
    anchors = [f'<a id="{page.stem}.{name}"></a>' for name in names - {"localize"}]
    page.write_text("".join(anchors), encoding="utf-8")
    (wrong,) = check_site.undescribed(check_site.read(tmp_path))
    assert wrong.endswith("localize is not described")
