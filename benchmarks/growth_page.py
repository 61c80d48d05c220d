"""Tables, figure and page about error and time against n, from the records of `growth.py`."""

from collections import defaultdict
from pathlib import Path

import numpy as np

from localegop.research.paper.drawing import COLORS, mean_and_error, panels, slope_fit
from localegop.research.peers import METHODS
from localegop.research.runs.pages import markdown_table, save_figures

COLUMNS = {"mse_over_variance": "error / variance", "fit_seconds": "fit, seconds"}
_WIDTH = 7.8  # of the figure, in inches
_MARKERS, _LINES = "os^Dv<>ph", ("-", "--", ":", "-.")

PAGE = """# Error and time against n

How errors fall and times grow with the number of rows n: helices in D dimensions, along which a random
cubic is the label, with noise in standard deviations of the clean labels. Errors are mean squared
differences from the clean labels of 1,000 fresh points, over their variance; numbers are geometric means
over samples (at most {samples}), each with a label function of its own. A slope is that of the logarithm in
log n by least squares: its mean over samples, with its standard error. Written by
`python benchmarks/growth.py --page FILE` at commit {commit}; threads: {threads}.

![Error and time of a fit against n](figures/{figure})

## Errors

{errors}

## Times of fits, in seconds
{busy}
{times}
"""

BUSY = """
Other work went on meanwhile, more at some times than at others: these times are too long by factors of 1 to
10, and do not compare with each other. [Speed](speed.md) has times of a machine that does nothing else.
"""


def write_page(path: Path, records: list[dict], commits: set[str], *, busy: bool = False) -> None:
    """Write the page, and its figure in the folder ``figures`` beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = save_figures({path.stem: draw(records)}, path.parent / "figures")[path.stem]
    facts = {
        "samples": len({each["sample"] for each in records}),
        "commit": " and ".join(sorted(commits)),
        "threads": " or ".join(sorted({str(each["threads"]) for each in records})),
        "figure": figure.name,
        "busy": BUSY if busy else "",
    }
    errors, times = ("\n".join(table(records, column)) for column in COLUMNS)
    path.write_text(PAGE.format(**facts, errors=errors, times=times), encoding="utf-8")


def by_curve(records: list[dict], column: str) -> dict[tuple, dict]:
    """Values of a column by curve (noise, D, method), then by sample, then by n."""
    curves: dict[tuple, dict] = defaultdict(lambda: defaultdict(dict))
    for each in records:
        curve = (each["noise"], each["dimension"], each["method"])
        curves[curve][each["sample"]][each["n"]] = max(each[column], 1e-300)
    return {curve: curves[curve] for curve in sorted(curves)}


def mean_at(samples: dict, n: int) -> float:
    """Geometric mean over the samples that have this n; NaN if none has."""
    values = [found[n] for found in samples.values() if n in found]
    return float(np.exp(np.mean(np.log(values)))) if values else np.nan


def slope(samples: dict) -> tuple[float, float]:
    """Slope of the logarithm in log n, and its standard error, over the samples that have every n."""
    sizes = sorted(set().union(*samples.values()))
    whole = [found for found in samples.values() if len(found) == len(sizes)]
    if len(sizes) < 2 or not whole:
        return np.nan, np.nan
    slopes = [slope_fit(np.array(sizes), np.array([found[n] for n in sizes]))[0] for found in whole]
    return mean_and_error(np.array(slopes))


def table(records: list[dict], column: str) -> list[str]:
    """Lines of a table: a row for each curve, a column for each n, the slope at the end."""
    sizes = sorted({each["n"] for each in records})
    rows = []
    for (noise, dimension, method), samples in by_curve(records, column).items():
        means = [mean_at(samples, n) for n in sizes]
        shown = ["" if np.isnan(mean) else f"{mean:.3g}" for mean in means]
        rows.append([f"{noise:g}", str(dimension), METHODS[method].label, *shown, _show(*slope(samples))])
    return markdown_table(["noise", "D", "method", *(f"{n:,}" for n in sizes), "slope"], rows)


def _show(value, error):
    """Slope and standard error; one sample has none."""
    if np.isnan(value):
        return ""
    return f"{value:.2f}" if np.isnan(error) else f"{value:.2f} ± {error:.2f}"


def draw(records: list[dict]):
    """Figure: errors above, times below, a column of panels for each noise. Needs matplotlib."""
    noises = sorted({each["noise"] for each in records})
    methods = [name for name in METHODS if name in {each["method"] for each in records}]
    dimensions = sorted({each["dimension"] for each in records})
    figure, axes = panels(2, len(noises), width=_WIDTH / len(noises), height=2.8, sharex=True, sharey="row")
    handles = {}
    for row, (column, label) in zip(axes, COLUMNS.items(), strict=True):
        for (noise, dimension, method), samples in by_curve(records, column).items():
            sizes = sorted(set().union(*samples.values()))
            place, kind = dimensions.index(dimension), methods.index(method)
            style = {"color": COLORS[place % len(COLORS)], "ls": _LINES[kind % len(_LINES)], "ms": 5}
            style |= {"marker": _MARKERS[kind % len(_MARKERS)], "mec": "white", "mew": 0.4}
            values = [mean_at(samples, n) for n in sizes]
            (handles[place, kind],) = row[noises.index(noise)].loglog(sizes, values, **style)
        row[0].set_ylabel(label)
    _finish(axes, noises, sorted({each["n"] for each in records}))
    labels = {key: f"D={dimensions[key[0]]}" for key in sorted(handles)}
    if len(methods) > 1:
        labels = {key: f"{text}, {METHODS[methods[key[1]]].label}" for key, text in labels.items()}
    options = {"loc": "outside lower center", "ncols": len(dimensions), "fontsize": 8, "frameon": False}
    figure.legend([handles[key] for key in labels], list(labels.values()), **options)
    return figure


def _finish(axes, noises, sizes):
    """Titles, ticks and grids."""
    for axis, noise in zip(axes[0], noises, strict=True):
        axis.set_title(f"noise {noise:g}", fontsize=10)
    for axis in axes[1]:
        axis.set_xlabel("training rows")
    for axis in axes.flat:
        axis.set_xticks(sizes, [_short(n) for n in sizes], fontsize=7)
        axis.xaxis.minorticks_off()
        _label_few_decades(axis)
        axis.grid(color="0.9")
        axis.set_axisbelow(True)


def _label_few_decades(axis):
    """More than powers of ten where they alone would leave the vertical axis bare."""
    from matplotlib.ticker import LogLocator

    low, high = axis.get_ylim()
    if high < 100.0 * low:
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")


def _short(n):
    """A number of rows in few letters: 500, 4k, 1M."""
    for unit, letter in ((10**6, "M"), (1000, "k")):
        if n >= unit:
            return f"{n / unit:g}{letter}"
    return str(n)
