"""The explorer in a real browser: what the page shows is what Python says."""

import json
import shutil
import time

import numpy as np
import pandas as pd
import pytest
from tests.explorer.examples import HOSTILE, NAMES, near

from localegop import LocalEGOPRegressor
from localegop._explorer import page

selenium = pytest.importorskip(
    "selenium", reason="selenium is not installed: pip install 'localegop[browser]'"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="no browser: install chromium and chromium-driver (Debian) or Chrome and chromedriver",
    ),
]
WAIT = 20.0  # seconds


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    profile = tmp_path_factory.mktemp("chromium")
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        f"user-data-dir={profile}",
    ):
        options.add_argument(f"--{argument}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Page:
    """The page as a user sees it."""

    def __init__(self, driver, address, width=1600, height=1200):
        self.driver = driver
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get_log("browser")
        driver.get(address)
        self.wait_for(lambda: self.run("return document.querySelector('[data-row]') !== null"))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait_for(self, condition):
        end = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < end, (self.driver.get_log("browser"), self.text())
            time.sleep(0.05)

    def text(self):
        return self.run("return document.body.innerText")

    def numbers(self, name):
        """All digits of the numbers of that name."""
        values = self.run(
            f"return [...document.querySelectorAll('data[data-name={name}]')].map((e) => e.value)"
        )
        return np.array([float(value) for value in values])

    def by_feature(self, name):
        """Numbers of features, in the order of the columns."""
        found = self.run(
            "return [...document.querySelectorAll('.slopes [data-feature]')].map((row) => "
            f"[Number(row.dataset.feature), row.querySelector('data[data-name={name}]').value])"
        )
        return np.array([float(value) for _, value in sorted(found)])

    def click(self, selector):
        self.driver.find_element("css selector", selector).click()

    def chosen(self):
        return int(self.run("return document.querySelector('[data-row].localegop-explorer').dataset.row"))

    def slide(self, selector, value):
        """Move a slider as a user does, up to what it says about that."""
        self.run(
            "const s = document.querySelector(arguments[0]); s.focus(); s.value = arguments[1];"
            "s.dispatchEvent(new Event('input', {bubbles: true}))",
            selector,
            value,
        )

    def click_point(self, row):
        """Click where a row is drawn on the map."""
        x, y = self.run(
            "const m = window.explorer.map; return [m.toX(m.xs[arguments[0]]), m.toY(m.ys[arguments[0]])]",
            row,
        )
        canvas = self.driver.find_elements("css selector", ".map canvas")[1]
        box = self.run("const b = arguments[0].getBoundingClientRect(); return [b.width, b.height]", canvas)
        from selenium.webdriver import ActionChains

        offset = round(x - box[0] / 2), round(y - box[1] / 2)
        ActionChains(self.driver).move_to_element_with_offset(canvas, *offset).click().perform()
        self.wait_for(lambda: self.chosen() == row)

    def problems(self):
        """Errors of scripts, and refusals of what the policy does not allow."""
        return [entry for entry in self.driver.get_log("browser") if "favicon" not in entry["message"]]


def compare(shown, model, X, row):
    """Compare all numbers of the page with those of Python."""
    fits, interval = model.localize(X[row : row + 1]), model.predict_interval(X[row : row + 1], 0.9)
    for name in ("value", "std", "noise", "effective_size", "intrinsic_dimension", "remoteness"):
        near(shown.numbers(name), getattr(fits, name))
    near([*shown.numbers("lower"), *shown.numbers("upper")], interval[0])
    near(shown.by_feature("gradient"), fits.gradient[0])
    near(shown.by_feature("importance"), fits.importance[0])
    neighbors = fits.neighbors(0)
    assert shown.numbers("neighbor").astype(int).tolist() == neighbors.index[:10].tolist()
    near(shown.numbers("weight"), neighbors.weight[:10])
    scale = np.outer(fits.feature_scale[0], fits.feature_scale[0])
    near(shown.numbers("spectrum"), np.linalg.eigvalsh(fits.agop[0] * scale)[::-1])


@pytest.fixture
def served(chromium, server):
    shown = Page(chromium, server.address)
    yield shown
    assert shown.problems() == []


@pytest.fixture(scope="module")
def saved(model, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    model.explore(*rows).save(path)
    return path


def test_a_click_on_a_point_shows_what_python_says(served, model, rows):
    for row in (7, 3, 12):
        served.click_point(row)
        compare(served, model, rows[0], row)
        near(served.numbers("label"), rows[1].iloc[row])
    assert f"Row {12}" in served.text()


def test_probabilities_of_classes_are_those_of_python(chromium, class_model, class_rows, tmp_path):
    X, y = class_rows
    class_model.explore(X, y).save(tmp_path / "classes.html")
    shown = Page(chromium, (tmp_path / "classes.html").as_uri())
    p, std = class_model.predict_proba(X, return_std=True)
    sets, fits = class_model.predict_set(X), class_model.localize(X)
    for row in (5, 8):
        shown.click_point(row)
        order = np.argsort(-p[row], kind="stable")
        near(shown.numbers("probability"), p[row, order])
        if row == 5:  # the most probable class, up to when one is chosen
            near(shown.numbers("value"), p[row, order[0]])
        near(shown.numbers("probability_std"), std[row, order])
        assert shown.numbers("in_set").astype(bool).tolist() == sets[row, order].tolist()
        for k in (2, 0):
            shown.click(f'[data-class="{k}"] button')
            near(shown.numbers("value"), p[row, k])
            near(shown.numbers("whatif"), p[row, k])
            near(shown.by_feature("gradient"), fits.gradient[row, k])
        assert shown.run("return document.activeElement.textContent") == class_model.classes_[0]
        said = "return document.querySelector(`data[data-name=${arguments[0]}]`).value"
        assert shown.run(said, "label") == y.iloc[row]
        assert shown.run(said, "class") == class_model.classes_[order[0]]
    for color in ("likely", "label"):
        shown.run("window.explorer.change({color: arguments[0]})", color)
        named = class_model.predict(X) if color == "likely" else y
        numbers = [class_model.classes_.tolist().index(name) for name in named]
        assert shown.run("return window.explorer.colorValues()") == numbers
        key = shown.run("return [...document.querySelectorAll('.key .entry')].map((e) => e.innerText)")
        assert key == class_model.classes_.tolist()
    shown.click("[data-view=table]")
    cells = shown.run(
        "return [...document.querySelectorAll('tr[data-row=\"5\"] td')].map((e) => e.innerText)"
    )
    assert cells[:2] == [class_model.predict(X)[5], y.iloc[5]]
    assert shown.run("return document.querySelectorAll('i, b').length") == 0
    assert shown.problems() == []


def test_what_if_follows_the_probabilities_of_classes(chromium, class_server, class_model, class_rows):
    shown = Page(chromium, class_server.address)
    shown.click_point(3)
    moved = class_rows[0][3:4].copy()
    shown.slide('.whatif [data-feature="1"]', 1.5)
    moved["width"] = float(shown.run("return document.querySelector('.whatif [data-feature=\"1\"]').value"))
    p = class_model.predict_proba(moved, return_std=True)[0][0]
    likely = np.argsort(-p, kind="stable")
    shown.wait_for(lambda: abs(shown.numbers("probability")[0] - p[likely[0]]) < 1e-9)
    near(shown.numbers("probability"), p[likely])
    said = "return document.querySelector('data[data-name=class]').value"
    assert shown.run(said) == class_model.classes_[likely[0]]
    assert shown.problems() == []


def test_steps_of_the_recursion_by_a_slider(served, model, rows):
    served.click_point(5)
    trace = model.localize(rows[0][5:6], trace=True).trace
    assert len(trace.value) > 1
    for step in range(len(trace.value)):
        served.slide("input[data-name=step]", step)
        near(served.numbers("step_value"), trace.value[step])
        near(served.numbers("step_effective_size"), trace.effective_size[step])
    served.slide("input[data-name=step]", len(trace.value))
    assert "final fit" in served.text()


def test_what_if_follows_the_true_prediction(served, model, rows):
    served.click_point(4)
    before = served.numbers("whatif")[0]
    moved = rows[0][4:5].copy()
    for j, value in ((0, 0.25), (1, -0.5)):
        slider = f"document.querySelector('.whatif [data-feature=\"{j}\"]')"
        low, high = served.run(f"return [Number({slider}.min), Number({slider}.max)]")
        moved.iloc[0, j] = low + (value + 1.0) / 2.0 * (high - low)
        served.slide(f'.whatif [data-feature="{j}"]', float(moved.iloc[0, j]))
        moved.iloc[0, j] = float(served.run(f"return {slider}.value"))
        expected = model.predict(moved, exact=True)[0]
        served.wait_for(lambda expected=expected: abs(served.numbers("whatif")[0] - expected) < 1e-9)
    fits = model.localize(moved)
    near(served.numbers("value"), fits.value)
    near(served.by_feature("gradient"), fits.gradient[0])
    assert "Row 4, moved" in served.text()
    served.run("document.activeElement.blur()")
    served.run(
        "[...document.querySelectorAll('button')].find((b) => b.textContent === 'as it was').click()"
    )
    near(served.numbers("whatif"), before)


def test_the_table_chooses_rows_and_sorts(served, model, rows):
    served.click("[data-view=table]")
    served.click('tr[data-row="2"] td')
    served.wait_for(lambda: served.chosen() == 2)
    compare(served, model, rows[0], 2)
    served.run("document.querySelectorAll('thead button')[1].click()")
    first = int(served.run("return document.querySelector('.table tbody tr').dataset.row"))
    assert first == int(np.argmin(model.predict(rows[0], exact=True)))
    served.click("[data-view=scatter]")


def test_the_keyboard_is_enough(served):
    from selenium.webdriver import ActionChains, Keys

    served.run("document.querySelectorAll('.map canvas')[1].focus()")
    ActionChains(served.driver).send_keys(Keys.HOME).perform()
    served.wait_for(lambda: served.chosen() == 0)
    place = "const m = window.explorer.map; return m.toX(m.xs[window.explorer.row])"
    before = served.run(place)
    ActionChains(served.driver).send_keys(Keys.ARROW_RIGHT).perform()
    served.wait_for(lambda: served.chosen() != 0)
    assert served.run(place) > before
    served.run("document.querySelector('input[data-name=step]').focus()")
    ActionChains(served.driver).send_keys(Keys.ARROW_LEFT).perform()
    served.wait_for(lambda: "final fit" not in served.text())
    assert served.run("return document.activeElement.dataset.name") == "step"


def test_hostile_names_are_text(served):
    text = served.text()
    assert HOSTILE in text and "<b>price</b>" in text
    assert served.run("return [window.hacked ?? null, document.querySelectorAll('img, b').length]") == [
        None,
        0,
    ]


def test_a_file_opened_from_disk_without_network(chromium, saved, model, rows):
    chromium.execute_cdp_cmd("Network.enable", {})
    chromium.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    try:
        shown = Page(chromium, saved.as_uri())
        for row in (0, 9):
            shown.click_point(row)
            compare(shown, model, rows[0], row)
        places = shown.run("return window.explorer.original.profiles.places[1]")
        count = int(shown.run("return Number(document.querySelector('.whatif [data-feature=\"1\"]').max)"))
        assert count == len(places)  # the row's own value is one of them
        shown.slide('.whatif [data-feature="1"]', 0)
        moved = rows[0][9:10].copy()
        moved["width"] = min(places[0], moved["width"].iloc[0])
        near(shown.numbers("whatif"), model.predict(moved, exact=True))
        assert HOSTILE in shown.text()
        assert shown.problems() == []
        assert shown.run("return performance.getEntriesByType('resource').length") == 0
    finally:
        chromium.execute_cdp_cmd("Network.disable", {})


WIDGET_HOST = """
const start = START, answer = JSON.parse(ANSWER);
const heard = [];
const model = {
  get: () => start,
  on: (_, listener) => heard.push(listener),
  off: () => heard.pop(),
  send: ({ number }) => setTimeout(() => heard.forEach((listener) => listener({ number, answer })), 10),
};
window.clean = renderWidget({ model, el: document.body });
"""


def in_script(text):
    """A text as a string of a script, which must not end the script."""
    return json.dumps(text).replace("<", "\\u003c")


def test_the_widget_in_a_page(chromium, model, rows, tmp_path):
    """The module that notebooks load, with a model that answers as the kernel would."""
    scene = model.explore(*rows).scene
    answer = page.to_json(scene.answerer.answer(rows[0].to_numpy()[:1]))
    start = page.to_json({**scene.start(), "fits": None, "training": None})
    stub = WIDGET_HOST.replace("START", in_script(start)).replace("ANSWER", in_script(answer))
    target = tmp_path / "widget.html"
    target.write_text(
        f"<!doctype html><body><script type=module>{page.script()}{stub}</script></body>", encoding="utf-8"
    )
    shown = Page(chromium, target.as_uri())
    compare(shown, model, rows[0], 0)
    shown.run("window.clean()")
    assert shown.problems() == []


def test_the_frame_that_notebooks_without_anywidget_show(chromium, model, rows, tmp_path):
    target = tmp_path / "notebook.html"
    frame = model.explore(rows[0][:4])._frame()
    target.write_text(f"<!doctype html><meta charset=utf-8><p>notebook</p>{frame}", encoding="utf-8")
    chromium.get(target.as_uri())
    chromium.switch_to.frame(chromium.find_element("css selector", "iframe"))
    shown = Page.__new__(Page)
    shown.driver = chromium
    shown.wait_for(lambda: shown.run("return document.querySelector('[data-row]') !== null"))
    compare(shown, model, rows[0], 0)
    chromium.switch_to.default_content()


def test_errors_of_slopes_are_shown_where_they_are_known(chromium, server, model, rows):
    shown = Page(chromium, server.address)
    shown.click_point(20)
    near(shown.by_feature("gradient_std"), model.localize(rows[0][20:21]).gradient_std[0])
    assert shown.run("return document.querySelectorAll('.slopes .whisker').length") == 3


@pytest.mark.parametrize("width", [375, 1600])
def test_nothing_sticks_out(chromium, saved, width):
    shown = Page(chromium, saved.as_uri(), width)
    for view in ("scatter", "image", "table"):
        shown.click(f"[data-view={view}]")
        assert shown.run("return document.documentElement.scrollWidth") <= width
    shown.click("[data-view=scatter]")
    frame = "document.querySelector('.slopes').parentElement"
    assert shown.run(f"return {frame}.scrollWidth - {frame}.clientWidth") <= 1  # no column is cut
    small = shown.run(
        "return [...document.querySelectorAll('button, select, input')].filter((e) => "
        "e.getBoundingClientRect().height < 13).length"
    )
    assert small == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ticks_can_be_read_on_light_and_dark_paper(chromium, saved, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        shown = Page(chromium, saved.as_uri())
        bright, dark = shown.run(
            "const c = document.querySelector('.map canvas');"
            "const p = c.getContext('2d').getImageData(0, 0, 50, c.height).data; let n = [0, 0];"
            "for (let k = 0; k < p.length; k += 4) if (p[k + 3] > 200) n[p[k] > 127 ? 0 : 1] += 1; return n"
        )
        assert (dark, bright)[scheme == "dark"] > 20 and (bright, dark)[scheme == "dark"] == 0
    finally:
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_pixels_of_an_image(chromium, tmp_path):
    rows, columns = np.mgrid[0:16, 0:20]
    X = np.column_stack([rows.ravel(), columns.ravel()]).astype(float)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 12, 1.0, 0.0)
    model = LocalEGOPRegressor(n_iter=2, n_jobs=1, degree=1, ridge=1e-3).fit(X, y)
    model.explore(X, y, view="image").save(tmp_path / "image.html", rows=320)
    shown = Page(chromium, (tmp_path / "image.html").as_uri())
    assert shown.run("return window.explorer.map.grid") == {"dx": 1, "dy": 1}
    shown.click_point(7 * 20 + 9)
    near(shown.numbers("value"), model.predict(X[[149]], exact=True))
    upper, lower = shown.run("const m = window.explorer.map; return [m.toY(0), m.toY(15)]")
    assert upper < lower  # the first row of an image is on top


def test_five_thousand_points_without_lag(chromium, tmp_path, model):
    scene = model.explore().scene
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5000, 3)), columns=NAMES)
    start = {**model.explore(X).scene.start(), **scene.answerer.answer(X.to_numpy()[:2])}
    (tmp_path / "many.html").write_text(page.file_page(start), encoding="utf-8")
    shown = Page(chromium, (tmp_path / "many.html").as_uri())
    assert "5,000 rows" in shown.text()
    spent = shown.run(
        "const m = window.explorer.map; const t = performance.now();"
        "for (let k = 0; k < 10; k += 1) { m.draw(); m.nearest(300, 300); }"
        "return (performance.now() - t) / 10"
    )
    print(f"drawing 5,000 points takes {spent:.1f} ms")  # depends on the load: not asserted
    elements = shown.run("return document.querySelectorAll('*').length")
    assert elements < 1500  # what is fast: points are painted, and rows of the table come page by page
