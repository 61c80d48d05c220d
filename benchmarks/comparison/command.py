"""The command line of ``benchmarks/peers.py``: run, summary, report, list."""

import argparse
import os
from pathlib import Path

from fresh import thread_variables

from localegop.research.peers import METHODS
from localegop.research.peers.classifiers import CLASSIFIERS
from localegop.research.runs.files import make_folder
from localegop.research.runs.pages import save_figures
from localegop.research.runs.workers import Refused

from .datasets import DATASETS
from .figures import draw
from .report import markdown_tables, write_report
from .runs import Results, forms, plan, run_cells
from .summary import must_show


def run(arguments):
    form = forms()[arguments.form]
    threads = arguments.threads or form.threads
    os.environ.update(thread_variables(threads))  # read by the processes of the cells
    make_folder(Path(arguments.output))
    results = _open_results(Path(arguments.output) / "results.json", arguments)
    cells = plan(
        _usable_datasets(arguments),
        _usable_methods(arguments),
        n_train=arguments.n_train,
        seeds=arguments.seeds or form.seeds,
        tuning_rows=arguments.tuning_rows or form.tuning_rows,
        threads=threads,
        quick=arguments.form == "quick",
    )
    limit = arguments.time_limit or form.time_limit
    pending = results.pending(cells, limit, arguments.again)
    print(f"{len(pending)} of {len(cells)} cells to run, results in {results.path}", flush=True)
    say = lambda line: print(line, flush=True)  # noqa: E731
    run_cells(results, pending, jobs=arguments.jobs or form.jobs, time_limit=limit, say=say)
    _show(results, Path(arguments.output))


def _open_results(path, arguments):
    if not path.exists():
        return Results(path, arguments.form)
    if not arguments.resume:
        raise SystemExit(f"'{path}' holds results: go on with --resume, or give another --output")
    results = Results.load(path)
    if results.about["form"] != arguments.form:
        raise SystemExit(
            f"'{path}' holds results of the {results.about['form']} form: give another --output"
        )
    return results


def _usable_datasets(arguments):
    names = arguments.datasets or [
        name for name, entry in DATASETS.items() if arguments.form == "full" or entry.quick
    ]
    for name in names:
        if DATASETS[name].missing:
            print(f"{name} skipped: {DATASETS[name].missing}", flush=True)
    return [name for name in names if not DATASETS[name].missing]


def _usable_methods(arguments):
    names = arguments.methods or [
        name for name, method in METHODS.items() if arguments.form == "full" or not method.slow
    ]
    for name in names:
        method = METHODS[name]
        if not method.available:
            print(f"{name} skipped: it needs {method.module}: pip install 'localegop[bench]'", flush=True)
    return [name for name in names if METHODS[name].available]


def _show(results, folder):
    records = results.records()
    (folder / "tables.md").write_text(markdown_tables(records), encoding="utf-8")
    save_figures(draw(records), folder)
    summary(results)


def summary(results):
    print("\n" + must_show(results.records()).markdown(), flush=True)


def report(arguments):
    results = Results.load(Path(arguments.input))
    for path in write_report(results, Path(arguments.docs)):
        print(path)
    summary(results)


def listing():
    for name, entry in DATASETS.items():
        print(f"{name:20} {entry.label}; {entry.group}; {entry.full.train[-1]:,} rows {entry.missing}")
    for name, method in METHODS.items():
        most = "any n" if method.largest_n is None else f"n <= {method.largest_n:,}"
        print(f"{name:20} {method.label}; {most}; tuned: {method.tuning}")
    for name, method in CLASSIFIERS.items():
        print(f"{name:20} {method.label}; classes (benchmarks/classes.py); tuned: {method.tuning}")


def _parser():
    parser = argparse.ArgumentParser(description="Field Local EGOP against its peers.")
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="measure (this is what happens without a command)")
    runs.add_argument("--datasets", nargs="+", choices=list(DATASETS), metavar="NAME", default=[])
    runs.add_argument("--methods", nargs="+", choices=list(METHODS), metavar="NAME", default=[])
    runs.add_argument(
        "--n-train", nargs="+", type=int, default=[], help="in place of the sizes of the sets"
    )
    runs.add_argument("--seeds", type=int, help="how many splits: seeds 0, 1, ...")
    runs.add_argument("--tuning-rows", type=int, help="most rows that methods are tuned on")
    runs.add_argument("--jobs", type=int, help="cells side by side")
    runs.add_argument("--threads", type=int, help="threads of each cell")
    runs.add_argument("--time-limit", type=float, help="seconds that one cell may take")
    runs.add_argument("--output", default="bench_output", help="folder of the results")
    runs.add_argument("--resume", action="store_true", help="go on with the results in the folder")
    runs.add_argument("--again", nargs="+", choices=list(METHODS), metavar="METHOD", default=[])
    size = runs.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="form", action="store_const", const="quick", default="quick")
    size.add_argument("--full", dest="form", action="store_const", const="full")
    stored = argparse.ArgumentParser(add_help=False)
    stored.add_argument("--input", default="bench_output/results.json", help="results of a run")
    commands.add_parser("summary", parents=[stored], help="print what had to be shown")
    page = commands.add_parser("report", parents=[stored], help="write docs/benchmarks.md and its figures")
    page.add_argument("--docs", default="docs", help="folder of the page")
    commands.add_parser("list", help="name data sets and methods")
    return parser


def main(given):
    if not given or (given[0].startswith("-") and given[0] not in ("-h", "--help")):
        given = ["run", *given]
    arguments = _parser().parse_args(given)
    if arguments.command == "run":
        try:
            run(arguments)
        except Refused as error:
            raise SystemExit(str(error)) from error
    elif arguments.command == "summary":
        summary(Results.load(Path(arguments.input)))
    elif arguments.command == "report":
        report(arguments)
    else:
        listing()
