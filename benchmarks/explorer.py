"""The explorer in a real browser: size of a file, and how long a user waits.

Run with ``python benchmarks/explorer.py``; the figures in docs/explorer.md are from it. Needs
``pip install 'localegop[browser]'`` and Debian's packages ``chromium`` and ``chromium-driver``.

A model of 1,000 rows and 10 features; a file with the answers about 500 of them, opened from disk with the
network off; the same model behind a server; and a page with 5,000 points.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from localegop import LocalEGOPRegressor
from localegop._explorer import page
from localegop._explorer.server import Server

WAIT = 120.0  # seconds
CLICKS = 10
OFFLINE = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
READY = "return document.querySelector('[data-row]') !== null"
DRAW = """const m = window.explorer.map, t = performance.now();
for (let k = 0; k < 20; k += 1) { m.draw(); m.context(m.base, 1, 1).getImageData(0, 0, 1, 1); }
return (performance.now() - t) / 20"""
FIND = """const m = window.explorer.map, t = performance.now();
for (let k = 0; k < 100; k += 1) m.nearest(300, 300);
return (performance.now() - t) / 100"""
CLICK = """const done = arguments[1], t = performance.now();
window.explorer.select(arguments[0]).then(() => requestAnimationFrame(() => done(performance.now() - t)))"""
MOVE = """const done = arguments[1], t = performance.now();
window.explorer.move(0, arguments[0])
  .then(() => requestAnimationFrame(() => done(performance.now() - t)))"""


def make_model() -> tuple[Any, np.ndarray, np.ndarray]:
    """A model of 10 features, of which three matter, and its rows and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=1000)
    return LocalEGOPRegressor().fit(X, y), X, y


def start_browser() -> Any:
    """Start Chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1600,1200"):
        options.add_argument(f"--{argument}")
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def opened(driver: Any, address: str) -> float:
    """Seconds until a page shows its first row."""
    start = time.perf_counter()
    driver.get(address)
    while not driver.execute_script(READY):
        if time.perf_counter() - start > WAIT:
            raise TimeoutError(f"{address} shows no row after {WAIT:.0f} s")
        time.sleep(0.01)
    return time.perf_counter() - start


def median(driver: Any, script: str, values: Any) -> float:
    """Median of the milliseconds that a script measures."""
    return float(np.median([driver.execute_async_script(script, value) for value in values]))


def report(what: str, value: str) -> None:
    """Print a figure."""
    print(f"{what:<62} {value}", flush=True)


def measure_file(driver: Any, model: Any, X: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """A file of 500 rows: its size, and how it opens without a network."""
    start = time.perf_counter()
    model.explore(X, y).save(folder / "page.html")
    report("file of 500 rows x 10 features: seconds to write", f"{time.perf_counter() - start:.0f} s")
    size = (folder / "page.html").stat().st_size / 1e6
    report("its size, at most 3 MB", f"{size:.2f} MB")
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", OFFLINE)
    report(
        "opened from disk with the network off", f"{opened(driver, (folder / 'page.html').as_uri()):.2f} s"
    )
    asked = driver.execute_script("return performance.getEntriesByType('resource').length")
    report("other files and addresses it asked for", str(asked))
    report("a click, until all of it is drawn", f"{median(driver, CLICK, range(1, CLICKS)):.1f} ms")
    driver.execute_cdp_cmd("Network.disable", {})


def measure_server(driver: Any, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """The same rows behind a server: a click asks Python."""
    with Server(model.explore(X, y).scene) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        report("served: until the first row is shown", f"{opened(driver, server.address):.2f} s")
        report("a click, answered by Python", f"{median(driver, CLICK, range(1, CLICKS)):.0f} ms")
        places = np.linspace(-1.0, 1.0, CLICKS).tolist()
        report("a move of a what-if slider, answered by Python", f"{median(driver, MOVE, places):.0f} ms")
        server.shutdown()


def measure_points(driver: Any, model: Any, folder: Path) -> None:
    """A page with 5,000 points, of which two have answers."""
    X = np.random.default_rng(1).normal(size=(5000, 10))
    scene = model.explore(X).scene
    start = {**scene.start(), **scene.answerer.answer(X[:2])}
    (folder / "many.html").write_text(page.file_page(start), encoding="utf-8")
    opened(driver, (folder / "many.html").as_uri())
    report("5,000 points: drawing all of them", f"{driver.execute_script(DRAW):.1f} ms")
    report("5,000 points: finding the one that was clicked", f"{driver.execute_script(FIND):.2f} ms")


def main() -> None:
    """Print all figures."""
    model, X, y = make_model()
    driver = start_browser()
    try:
        with tempfile.TemporaryDirectory() as name:
            measure_file(driver, model, X, y, Path(name))
            measure_server(driver, model, X, y)
            measure_points(driver, model, Path(name))
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
