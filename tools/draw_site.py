"""Photograph the built site in headless Chromium, wide and narrow, and look for what sticks out.

Run with ``python tools/draw_site.py docs/_build FOLDER`` after ``make docs``; needs
``pip install 'localegop[browser]'`` and Debian's packages ``chromium`` and ``chromium-driver``. Every page
is opened at the width of a phone: it must not be wider than that, and no line of code may be cut at the
edge. The search must find something.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIZES = {1600: 1000, 375: 812}  # width and height in pixels
TALLEST = 2600  # of a picture
PAGES = {
    "landing": "index.html",
    "gallery": "gallery/index.html",
    "example": "gallery/plot_06_denoising_an_image.html",
    "api": "generated/localegop.LocalEGOPClassifier.html",
    "started": "get_started.html",
    "how": "how_it_works.html",
}
WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT = """return [...document.querySelectorAll('pre')].filter((pre) => {
  const style = getComputedStyle(pre);
  return pre.scrollWidth > pre.clientWidth + 1 && style.overflowX === 'hidden';
}).length"""
FOUND = "return document.querySelectorAll('#search-results li').length"


def start_browser() -> Any:
    """Start Chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def resize(driver: Any, width: int, height: int) -> None:
    """Set the size of the screen."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def photograph(driver: Any, address: str, width: int, scheme: str, target: Path) -> None:
    """Take a picture of a page, all of it unless it is very long."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    resize(driver, width, SIZES[width])
    driver.get(address)
    height = driver.execute_script("return document.documentElement.scrollHeight")
    resize(driver, width, min(max(height, SIZES[width]), TALLEST))
    time.sleep(0.5)
    driver.save_screenshot(str(target))
    print(target, flush=True)


def problems(driver: Any, site: Path) -> Iterator[str]:
    """Say which pages are too wide for a phone, and whether the search finds nothing."""
    resize(driver, 375, SIZES[375])
    for page in sorted(site.rglob("*.html")):
        driver.get(page.as_uri())
        wider, cut = driver.execute_script(WIDER), driver.execute_script(CUT)
        if wider > 0 or cut:
            yield f"{page.relative_to(site)}: {wider} pixels too wide, {cut} blocks of code cut"
    driver.get(f"{(site / 'search.html').as_uri()}?q=interval")
    time.sleep(3.0)
    found = driver.execute_script(FOUND)
    print(f"search for 'interval': {found} pages")
    if not found:
        yield "the search finds nothing"


def main(built: str, target: str) -> int:
    """Write all pictures to a folder, and say what is wrong."""
    site, folder = Path(built).resolve(), Path(target).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with start_browser() as driver:
        for width in SIZES:
            for name, page in PAGES.items():
                for scheme in ("light", "dark") if name == "landing" else ("light",):
                    picture = folder / f"{name}-{scheme}-{width}.png"
                    photograph(driver, (site / page).as_uri(), width, scheme, picture)
        wrong = list(problems(driver, site))
    print(*wrong, f"{len(list(site.rglob('*.html')))} pages, {len(wrong)} problems", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
