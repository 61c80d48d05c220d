"""Tables: reading and writing CSV and Parquet by the ending of the name; problems are one line.

``-`` stands for CSV on standard input or output.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from localegop.cli.files import check_input, replacing
from localegop.cli.problems import Problem, need, one_line, quoted

Frame = Any  # a pandas DataFrame; pandas is imported only when a table is read
STREAM = "-"  # standard input or output
SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
COMPRESSED = ".gz"  # may follow the endings of text


def check_ending(path: str) -> str:
    """Return the ending that says how a table is written, or refuse it."""
    if path == STREAM:
        return ".csv"
    name = Path(path)
    compressed = name.suffix.lower() == COMPRESSED
    ending = Path(name.stem).suffix.lower() if compressed else name.suffix.lower()
    if ending not in SEPARATORS and (ending not in PARQUET or compressed):
        known = ", ".join((*SEPARATORS, *(f"{one}{COMPRESSED}" for one in SEPARATORS), *PARQUET))
        given = f"the ending {name.suffix.lower()!r}" if name.suffix else "a name without an ending"
        raise Problem(f"{path}: {given} does not tell the format of a table: use {known}")
    return ending


def check_writable(path: str) -> None:
    """Refuse, before any work is done, a table that could not be written."""
    if check_ending(path) in PARQUET:
        need("pyarrow")


def read_table(path: str) -> Frame:
    """Read a table with at least one row and distinct column names."""
    ending = check_ending(path)
    if path != STREAM:
        check_input(path)
    pandas = need("pandas")
    if ending in PARQUET:
        table = _read_parquet(path, pandas)
    else:
        table = _read_csv(path, SEPARATORS[ending], pandas)
    if len(table) == 0:
        raise Problem(f"{path}: the table has columns but no rows")
    return table


def write_table(table: Frame, target: Path | None) -> None:
    """Write a table completely or not at all, to standard output for None.

    Named row labels of Parquet tables are kept.
    """
    labels = any(name is not None for name in table.index.names)
    if target is None:
        table.to_csv(sys.stdout, index=labels)
        return
    ending = check_ending(str(target))
    with replacing(target) as temporary:
        if ending in PARQUET:
            table.to_parquet(temporary, engine="pyarrow")
            return
        packed = {"compression": {"method": "gzip", "mtime": 0}} if temporary.suffix == COMPRESSED else {}
        table.to_csv(temporary, sep=SEPARATORS[ending], index=labels, **packed)


def _read_parquet(path: str, pandas: Any) -> Frame:
    need("pyarrow")
    parquet = need("pyarrow.parquet")
    try:
        names = list(parquet.read_schema(path).names)
        _check_names(path, names)
        table = pandas.read_parquet(path, engine="pyarrow")
    except (Problem, MemoryError):
        raise
    except Exception as error:  # pyarrow has many kinds of errors for damaged files
        raise Problem(f"{path}: cannot be read as Parquet: {one_line(error)}") from error
    table.columns = [str(name) for name in table.columns]
    return table


def _exact_numbers(pandas: Any) -> dict[str, str]:
    """Options by which numbers are read as written, to the last digit; from version 3 on pandas does so."""
    return {"float_precision": "round_trip"} if int(pandas.__version__.split(".")[0]) < 3 else {}


def _read_csv(path: str, separator: str, pandas: Any) -> Frame:
    try:
        content = _read_bytes(path)
        names, separator = _header(path, content, separator)
        _check_names(path, names)
        with warnings.catch_warnings():
            # pandas only warns when it cuts off the ends of lines that are longer than the header
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            tables = [
                pandas.read_csv(
                    io.BytesIO(content),
                    sep=separator,
                    decimal=mark,
                    index_col=False,
                    skipinitialspace=True,
                    encoding="utf-8-sig",
                    low_memory=False,
                    **_exact_numbers(pandas),
                )
                for mark in (".," if separator == ";" else ".")
            ]
            table = max(tables, key=lambda one: len(one.select_dtypes("number").columns))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Problem(f"{path}: is not a gzip file, or is cut short: {one_line(error)}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise Problem(f"{path}: is not text in UTF-8: {one_line(error)}") from error
    except pandas.errors.ParserWarning as error:
        raise Problem(f"{path}: lines have more fields than the {len(names)} of the header") from error
    except pandas.errors.ParserError as error:
        reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
        raise Problem(f"{path}: cannot be read as a table: {reason}") from error
    return table


def _read_bytes(path: str) -> bytes:
    """Read all of a text file, or of standard input, unpacked."""
    content = sys.stdin.buffer.read() if path == STREAM else Path(path).read_bytes()
    return gzip.decompress(content) if path.lower().endswith(COMPRESSED) else content


def _header(path: str, content: bytes, separator: str) -> tuple[list[str], str]:
    """Read the column names as they are written, and find the separator.

    pandas would rename those that occur twice. Where commas give one column with semicolons in its name,
    semicolons separate, as in countries that write numbers with a comma.
    """
    names = _first_line(path, content, separator)
    if len(names) == 1 and ";" in names[0] and separator == ",":
        separator = ";"
        names = _first_line(path, content, separator)
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise Problem(
            f"{path}: has one column, {names[0]!r}: fields must be separated by commas or semicolons "
            "(.csv) or tabs (.tsv)"
        )
    if all(_is_number(name) for name in names) and not all(name.isdigit() for name in names):
        raise Problem(f"{path}: the first line contains numbers: a header with the column names is needed")
    return names, separator


def _first_line(path: str, content: bytes, separator: str) -> list[str]:
    """Fields of the first line that is not blank."""
    with io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="") as lines:
        for names in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            if names:
                return names
    raise Problem(f"{path}: is empty: a header with the column names is needed")


def _check_names(path: str, names: list[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1 and name]
    if twice:
        raise Problem(f"{path}: column names occur more than once: {quoted(twice)}: rename them")
    if not names:
        raise Problem(f"{path}: the table has no columns")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
