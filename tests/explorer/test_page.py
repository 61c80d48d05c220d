"""The page: one script from all modules, and one file with everything in it."""

import base64
import gzip
import json
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import numpy as np
import pytest
from tests.explorer.examples import HOSTILE, QUICK, near

from localegop import LocalEGOPRegressor
from localegop._explorer import page
from localegop.cli import main


def embedded(text):
    """The scene of a file."""
    packed = re.search(r'<script id="scene" type="text/plain">([A-Za-z0-9+/=]+)</script>', text).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_script_is_put_together_from_all_modules():
    script = page.script()
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    named = re.findall(r"^(?:async )?(?:function|class|const) (\w+)", script, re.MULTILINE)
    assert len(named) == len(set(named)) > 30  # one name twice would be an error in the browser only
    assert "innerHTML" not in script and "http://" not in script.replace("http://www.w3.org/2000/svg", "")


def test_a_file_needs_no_network_and_names_are_text(model, rows):
    text = model.explore(*rows).to_html()
    assert not re.search(r"(src|href)\s*=|url\(|https?://(?!www\.w3\.org/2000/svg)", text)
    assert HOSTILE not in text and "<b>price</b>" not in text
    assert "&lt;b&gt;price" in text  # in the title
    scene = embedded(text)
    assert scene["features"][0] == HOSTILE
    near([fit["outputs"][0]["value"] for fit in scene["fits"]], model.predict(rows[0], exact=True))
    near(scene["labels"], rows[1].to_numpy()[:, None])
    assert {row for fit in scene["fits"] for row in fit["outputs"][0]["neighbors"]["index"]} == set(
        scene["training"]["index"]
    )


@pytest.mark.slow
def test_a_file_of_500_rows_and_10_features_is_below_3_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=1000)
    model = LocalEGOPRegressor(n_iter=4, n_jobs=1, degree=1, ridge=1e-3).fit(X, y)
    model.explore(X, y).save(tmp_path / "page.html")
    assert len(embedded((tmp_path / "page.html").read_text(encoding="utf-8"))["fits"]) == 500
    assert (tmp_path / "page.html").stat().st_size < 3_000_000


def test_the_command_writes_a_page(model, rows, tmp_path, capsys):
    model.save(tmp_path / "m.model")
    table = rows[0].assign(**{rows[1].name: rows[1]})
    table.iloc[0, 1] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    given = ["explore", str(tmp_path / "m.model"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "p.html")]
    assert main([*given, "--drop-missing", "--rows", "5", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows"] == 5 and facts["bytes"] == (tmp_path / "p.html").stat().st_size
    scene = embedded((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert (
        scene["numbers"][0] == 2 and scene["numbers"][-1] == 30
    )  # counted from 1, the first one has a gap
    near(scene["labels"][0], rows[1].iloc[1])
    assert main([*given[:2], "-o", str(tmp_path / "p.html"), "--rows", "3", "--view", "table"]) == 0
    scene = embedded((tmp_path / "p.html").read_text(encoding="utf-8"))
    assert scene["view"] == "table" and scene["numbers"] == [1, 100, 200]
    capsys.readouterr()
    assert main([*given[:3], "-o", str(tmp_path / "p.txt")]) == 1
    assert "ends with .html" in capsys.readouterr().err


def test_other_kinds_of_fits_have_pages_too(rows):
    X, y = rows
    model = LocalEGOPRegressor(**QUICK | {"strategy": "query"}).fit(X, y)
    assert embedded(model.explore(X[:2]).to_html())["fits"][0]["profiles"] is None


@pytest.mark.slow
def test_the_command_serves_until_ctrl_c(model, tmp_path, heed_ctrl_c):
    model.save(tmp_path / "m.model")
    command = [sys.executable, "-m", "localegop", "explore", str(tmp_path / "m.model"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[1]
        with urlopen(address, timeout=30) as response:
            assert "explorer.js" in response.read().decode()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
