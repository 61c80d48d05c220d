"""Photograph the explorer in headless Chromium: scatter, image, table, classes, wide and narrow.

Run with ``python tools/draw_explorer.py FOLDER``; needs ``pip install 'localegop[browser]'``, scikit-image,
and Debian's packages ``chromium`` and ``chromium-driver``. ``FOLDER/scatter-1600.png`` and
``classes-1600.png``, copied to ``docs/figures/explorer.png`` and ``explorer_classes.png``, are the pictures
of the documentation.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from localegop import LocalEGOPClassifier, LocalEGOPRegressor
from localegop.datasets import image_samples

SIZES = {1600: 1000, 375: 812}  # width and height in pixels


def make_flats(count: int) -> tuple[pd.DataFrame, pd.Series]:
    """Prices of invented apartments, as in docs/command_line.md."""
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"area": rng.lognormal(4.5, 0.4, count), "age": rng.integers(0, 80, count)})
    flats["distance"] = rng.uniform(0, 20, count)
    flats["floor"] = rng.integers(0, 9, count)
    worth = 1.5 * flats.area * np.exp(-flats.distance / 15) * (0.7 + 0.3 * np.cos(flats.age / 12))
    return flats, (worth + 2 * flats.floor + 5 * rng.normal(size=count)).rename("price")


def write_pages(folder: Path) -> dict[str, tuple[Path, str]]:
    """Pages of a table, of an image and of classes, as files, and the views that they show."""
    from skimage import data, transform
    from sklearn.datasets import load_iris

    X, y = make_flats(1500)
    flats = LocalEGOPRegressor().fit(X[:1200], y[:1200])
    flats.explore(X[1200:], y[1200:], title="Prices of apartments").save(folder / "flats.html")
    image = transform.resize(data.camera()[40:240, 160:360] / 255.0, (20, 25), anti_aliasing=True)
    pixels = LocalEGOPRegressor().fit(*image_samples(image))
    pixels.explore(*image_samples(image), view="image", title="A photograph").save(folder / "image.html")
    iris = load_iris(as_frame=True)
    species = pd.Series(iris.target_names[iris.target], name="species")
    flowers = LocalEGOPClassifier().fit(iris.data[::2], species[::2])
    flowers.explore(iris.data[1::2], species[1::2], title="Flowers").save(folder / "flowers.html")
    return {
        "scatter": (folder / "flats.html", "scatter"),
        "image": (folder / "image.html", "image"),
        "table": (folder / "flats.html", "table"),
        "classes": (folder / "flowers.html", "scatter"),
    }


def photograph(driver: Any, address: str, view: str, width: int, target: Path) -> None:
    """Open a page, choose a view and a row in the middle, and take a picture of all of it."""
    height = SIZES[width]
    for whole in (False, True):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        if not whole:
            driver.get(address)
            time.sleep(2.0)
            driver.find_element("css selector", f"[data-view={view}]").click()
            driver.execute_script(
                "window.explorer.select(Math.floor(window.explorer.scene.rows.length / 2))"
            )
        time.sleep(0.5)
        height = driver.execute_script("return document.documentElement.scrollHeight")
    driver.save_screenshot(str(target))
    print(target)


def main(target: str) -> None:
    """Write all pictures to a folder."""
    from selenium import webdriver

    folder = Path(target).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    pages = write_pages(folder)
    with webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))) as driver:
        for width in SIZES:
            for name, (page, view) in pages.items():
                photograph(driver, page.as_uri(), view, width, folder / f"{name}-{width}.png")


if __name__ == "__main__":
    main(sys.argv[1])
