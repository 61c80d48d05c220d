"""Figures from records: ranks, accuracy against fit time, error against n. Drawing needs matplotlib."""

import numpy as np
from matplotlib.ticker import LogLocator

from localegop.research.paper.drawing import COLORS, panels
from localegop.research.peers import METHODS

from .datasets import CLEAN, DATASETS, INDEX, NOISY, TABLE
from .summary import (
    MAIN,
    RANKED,
    at_main_size,
    complete_sets,
    critical_difference,
    errors,
    mean_over_seeds,
    mean_ranks,
    ranks,
)

_WIDTH = 7.8  # of a figure, in inches
_OURS, _GRAY = "#000000", "0.6"
_MARKERS, _LINES = "sD^v<>phX*Pd8H", ("-", "--", ":", "-.")
_STYLES = {
    method: (COLORS[i % 6], _MARKERS[i % 14], _LINES[i // 6 % 4])
    for i, method in enumerate(m for m in RANKED if m != MAIN)
} | {MAIN: (_OURS, "o", "-")}
_GROUPS = {
    INDEX: "continuous index",
    TABLE: "tables",
    CLEAN: "test functions",
    NOISY: "test functions, noise",
}


def draw(records):
    """Figures by name, those for which there are records."""
    drawn = {"ranks": _ranks(records), "time": _time(records), "size": _size(records)}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _groups(records):
    """Groups with more than one set that is complete, and these sets."""
    return [(group, names) for group in _GROUPS if len(names := complete_sets(records, group)) > 1]


def _panels(count, height):
    """Figure with a panel per group, two side by side, and its axes in order."""
    columns = min(count, 2)
    figure, axes = panels(-(-count // columns), columns, width=_WIDTH / columns, height=height)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, axes.flat[:count]


def _ranks(records):
    """Mean ranks, with the ranks on every set behind them."""
    groups = _groups(records)
    if not groups:
        return None
    height = 1.2 + 0.22 * max(len(mean_ranks(records, names)) for _, names in groups)
    figure, axes = _panels(len(groups), height)
    for axis, (group, names) in zip(axes, groups, strict=True):
        means = mean_ranks(records, names)
        order = sorted(means, key=means.__getitem__)
        for row, method in enumerate(order):
            own = [ranks(records, name)[method] for name in names]
            axis.plot(own, [row] * len(own), "|", color=_GRAY, ms=9, mew=1.2)
            color = _OURS if method == MAIN else COLORS[0]
            axis.plot(means[method], row, "o", color=color, ms=8 if method == MAIN else 6)
        axis.set_yticks(range(len(order)), [METHODS[m].label for m in order], fontsize=9)
        for tick, method in zip(axis.get_yticklabels(), order, strict=True):
            tick.set_fontweight("bold" if method == MAIN else "normal")
        axis.invert_yaxis()
        axis.set(xlabel="rank by MSE (1 is best)", title=f"{_GROUPS[group]}, {len(names)} sets")
        if len(names) > 1 and len(order) > 1:
            least = means[order[0]]
            gap = critical_difference(len(order), len(names))
            axis.axvspan(least, least + gap, color=COLORS[5], alpha=0.18, lw=0)
        axis.set_xlim(0.5, len(order) + 0.5)
        axis.set_xticks([1, *range(5, len(order) + 1, 5)])
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
    return figure


def _time(records):
    """Error as a multiple of the best on each set against fit time, geometric means over sets."""
    groups = _groups(records)
    if not groups:
        return None
    figure, axes = _panels(len(groups), 4.6)
    main = at_main_size(records)
    handles = {}
    for axis, (group, names) in zip(axes, groups, strict=True):
        found = {name: errors(records, name) for name in names}
        for method in RANKED:
            own = [found[name].get(method, np.nan) for name in names]
            seconds = [mean_over_seeds(main, "fit_seconds", dataset=n, method=method) for n in names]
            if np.isnan(own).any() or np.isnan(seconds).any():
                continue
            best = [np.nanmin(list(found[name].values())) for name in names]
            excess = np.exp(np.mean(np.log(np.maximum(own, 1e-300) / np.maximum(best, 1e-300))))
            color, marker, _ = _STYLES[method]
            (handles[method],) = axis.loglog(
                np.exp(np.mean(np.log(seconds))), excess, marker, color=color, ms=9 if method == MAIN else 7
            )
        title = f"{_GROUPS[group]}, {len(names)} sets"
        axis.set(xlabel="fit seconds, with tuning", ylabel="MSE / that of the best method", title=title)
        low, high = axis.get_ylim()
        if high < 100.0 * low:  # hardly a decade: powers of ten alone would leave the axis bare
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("")
        axis.xaxis.set_minor_formatter("")
        axis.grid(color="0.9")
    _add_legend(figure, handles)
    return figure


def _size(records):
    """Error against training rows, on the sets that were run with several numbers."""
    sizes = {name: sorted({r["n_train"] for r in records if r["dataset"] == name}) for name in DATASETS}
    names = [name for name, found in sizes.items() if len(found) > 1][:4]
    if not names:
        return None
    figure, axes = panels(1, len(names), width=_WIDTH / len(names), height=4.6)
    handles = {}
    for axis, name in zip(axes[0], names, strict=True):
        for method in RANKED:
            own = _curve(records, name, method, sizes[name])
            if not own:
                continue
            color, marker, line = _STYLES[method]
            width = 2.2 if method == MAIN else 1.0
            style = {"color": color, "lw": width, "ms": 5, "mec": "white", "mew": 0.4}
            (handles[method],) = axis.loglog(*zip(*own, strict=True), marker + line, **style)
        axis.set_xlabel("training rows")
        axis.set_title(DATASETS[name].label, fontsize=9)
        axis.set_xticks(sizes[name], [f"{n:,}" for n in sizes[name]], fontsize=8)
        axis.minorticks_off()
        axis.grid(color="0.9")
    axes[0, 0].set_ylabel("MSE / label variance")
    _add_legend(figure, handles)
    return figure


def _add_legend(figure, handles):
    labels = [METHODS[m].label for m in handles]
    figure.legend(handles.values(), labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)


def _curve(records, name, method, sizes):
    """Pairs of training rows and error, up to the largest n of the method."""
    largest = METHODS[method].largest_n or max(sizes)
    pairs = [
        (n, mean_over_seeds(records, "mse_over_variance", dataset=name, method=method, n_train=n))
        for n in sizes
        if n <= largest
    ]
    return [(n, error) for n, error in pairs if error > 0.0]
