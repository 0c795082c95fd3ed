"""Measured inputs: a lookup table through the rows of arrays, a DataFrame or a CSV file, with units from its headers."""

from __future__ import annotations

import csv
import datetime
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Unpack

import numpy as np

from bondgraph.elements import Element
from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import spelled_out
from bondgraph.quantities import real
from bondgraph.signals.algebra import table
from bondgraph.signals.arguments import Format
from bondgraph.units import Conversion, Mismatch, Unreadable, conversion
from screws.errors import plural

TIME_NAMES = ("t", "time")
_HEADER = re.compile(r"(.+?)\s*[\[(]([^\[\]()]*)[\])]\s*")
_QUOTIENT = re.compile(r"(.+?)\s+/\s+(.+)")
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "#n/a"))
_SHOWN_ROWS = 4
_DAY = "0001-01-02"
"""Date assumed for a time of day without a date."""
_HALF_A_DAY = 43200.0


@spelled_out
def measured(
    name: str,
    source: Any,
    value: str | None = None,
    *,
    over: str | None = None,
    input: str = "time",
    clean: bool = False,
    kind: str = "linear",
    outside: str = "hold",
    **shown: Unpack[Format],
) -> Element:
    """Return the `table` through measured rows: y is the column `value` over the column `over`, at the signal `input`.

    Parameters
    ----------
    source : the path of a CSV file; a pandas DataFrame or Series; a dictionary of columns, {"t": t, "height": h}; or two
        arrays, (t, h).
    value : header of the values, with or without its unit; it may be left out if there is only one.
    over : header of the points; by default "t" or "time", else the index of a DataFrame, or the first column of a file. Dates and
        times of day, in a file in ISO 8601 format ("2026-01-31 12:00:00.5", "12:00"), become seconds since the first row. A time
        of day more than 12 h before the previous time belongs to the next day.
    clean : True sorts the rows, leaves out rows without a number, and averages rows at the same point, which are otherwise
        refused.
    kind, outside : as in `curve`.

    Headers may be in a comment just above the rows, "# t,height". A unit in brackets after a header, "height (mm)", after a
    slash, "height / mm", or in a row of units below, is converted: points over time to s, values to `unit`, else to SI. A
    file has commas, semicolons or tabs; with the latter two, numbers may have a decimal comma.

    Raises `ModelError` E444 for a file that cannot be read, a missing or ambiguous column, cells that are not numbers, and fewer
    than two rows; E445 for a unit that cannot be read or converted; E446 for rows without a number, for points that do not
    ascend, and for times whose day is ambiguous.
    """
    columns = _columns(name, source, value, over)
    point_unit, value_unit = "s" if input == "time" else "", shown.get("unit", "")
    points, values = columns.points, columns.values
    complete = np.isfinite(points) & np.isfinite(values)
    incomplete, not_ascending = np.flatnonzero(~complete), np.flatnonzero(~(np.diff(points) > 0.0))
    if len(incomplete) and not clean:
        title = f"{len(incomplete)} of {plural(len(points), 'row')} lack{'s' * (len(incomplete) == 1)} a number"
        cures = ("clean=True, which leaves out such rows", "numbers in these rows")
        raise _refused("E446", name, title, f"the first: {columns.rows(incomplete)}", *cures)
    if not clean and len(not_ascending):
        first, second = points[not_ascending[0]], points[not_ascending[0] + 1]
        title = f'"{columns.point_name}" ' + ("is repeated" if first == second else "descends")
        why = f"{first:g} is followed by {second:g}, at {columns.rows(not_ascending[:1] + 1)}; such rows: {len(not_ascending)}"
        raise _refused("E446", name, title, why, "clean=True, which sorts rows and averages those at the same point")
    if clean:
        points, groups = np.unique(points[complete], return_inverse=True)
        values = np.bincount(groups, values[complete]) / np.bincount(groups)
    if len(points) < 2:
        raise _refused(
            "E444", name, f"a table of length {len(points)} is too short", "a table has two points or more", "more rows"
        )
    knots = _converted(name, columns.point_name, points, columns.point_unit, point_unit, 'input="car.q", a signal of this unit')
    ordinates = _converted(name, columns.value_name, values, columns.value_unit, value_unit, f'unit="{columns.value_unit}"')
    return table(name, input, knots, ordinates, kind=kind, outside=outside, **shown)


@dataclass(frozen=True)
class _Columns:
    points: np.ndarray
    values: np.ndarray
    point_name: str = "points"
    value_name: str = "values"
    point_unit: str = ""
    value_unit: str = ""
    labels: Sequence[int] | None = None
    """Row numbers in the file, counted from 1; None for arrays, whose rows are counted from 0."""

    def rows(self, indices: np.ndarray) -> str:
        shown = [str(k if self.labels is None else self.labels[k]) for k in indices[:_SHOWN_ROWS].tolist()]
        kind = "index" if self.labels is None else "line"
        return f"{kind} {', '.join(shown)}{' ...' if len(indices) > _SHOWN_ROWS else ''}"


def _columns(name: str, source: Any, value: str | None, over: str | None) -> _Columns:
    if isinstance(source, (str, os.PathLike)):
        return _read_file(name, Path(source), value, over)
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        keys = {str(each): each for each in (source if isinstance(source, Mapping) else source.columns)}
        headers = list(keys)
        indexed = over is None and not _time_headers(headers, value) and hasattr(source, "index")
        if indexed:
            column = _header_of(name, headers, value, "value", None)
            points = _numbers(name, "index", source.index)
            values = _numbers(name, column, source[keys[column]])
            return _checked(name, _Columns(points, values, "index", column, "", _split(column)[1]))
        along = _header_of(name, headers, over, "over", value)
        column = _header_of(name, headers, value, "value", along)
        points, values = _numbers(name, along, source[keys[along]]), _numbers(name, column, source[keys[column]])
        kind = getattr(getattr(source[keys[along]], "dtype", None), "kind", "")
        unit = "s" if kind in ("m", "M") else _split(along)[1]  # dates and durations are in s, as in a file
        return _checked(name, _Columns(points, values, along, column, unit, _split(column)[1]))
    if hasattr(source, "index") and hasattr(source, "to_numpy"):
        header = str(getattr(source, "name", None) or "values")
        for argument, requested, column in (("value", value, header), ("over", over, "index")):
            if requested is not None:
                _header_of(name, [column], requested, argument, None)
        points = _numbers(name, "index", source.index)
        return _checked(name, _Columns(points, _numbers(name, header, source), "index", header, "", _split(header)[1]))
    if not isinstance(source, Sequence) or len(source) != 2:
        cures: tuple[str, ...] = ('"road.csv"', "a DataFrame", '{"t": t, "height": h}', "(t, h)")
        rows = real(source)
        if rows is not None and rows.ndim == 2 and min(rows.shape) > 1:
            first, second = ("a[0]", "a[1]") if rows.shape[0] == 2 else ("a[:, 0]", "a[:, 1]")
            cures = (f"({first}, {second}): points and values of this table, a = np.asarray(...)",)
        elif rows is not None and not isinstance(value, (str, NoneType)):
            cures = (f'measured("{name}", (points, values)), one pair of arrays',)
        raise _refused("E444", name, f"{type(source).__name__} contains no columns", "a table has points and values", *cures)
    return _checked(name, _Columns(_numbers(name, "points", source[0]), _numbers(name, "values", source[1])))


def _checked(name: str, columns: _Columns) -> _Columns:
    shapes = columns.points.shape, columns.values.shape
    if columns.points.shape != columns.values.shape or columns.points.ndim != 1:
        why = f'"{columns.point_name}" has shape {columns.points.shape}, "{columns.value_name}" {columns.values.shape}'
        if shapes[0] == shapes[1] or any(len(shape) != 1 for shape in shapes):
            raise _refused("E444", name, "points or values are not a list of numbers", why, "np.ravel(...) of each array")
        raise _refused("E444", name, "points and values have different lengths", why, "one value for each point")
    return columns


def _split(header: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(header.strip())
    if match is None and (match := _QUOTIENT.fullmatch(header.strip())) and isinstance(conversion(match[2], ""), Unreadable):
        match = None  # "left / right"
    return (match[1], match[2].strip()) if match else (header.strip(), "")


def _header_of(name: str, headers: Sequence[str], requested: str | None, argument: str, other: str | None) -> str:
    if requested is not None:
        near = [each for each in headers if each == requested] or [each for each in headers if _split(each)[0] == requested]
    elif argument == "over":
        near = _time_headers(headers, other)
    else:
        near = [each for each in headers if each and each != other]
    if len(near) == 1:
        return near[0]
    title = f"the column for {argument}= is ambiguous" if near else f"there is no column for {argument}="
    if requested is not None:
        title = f'{plural(len(near), "column")} are called "{requested}"' if near else f'no column is called "{requested}"'
    choice = [each for each in near or headers if each and each != other and headers.count(each) == 1]
    cures = [f'{argument}="{each}"' for each in choice[-2:]] or ["a separate column, with its own name"]
    raise _refused("E444", name, title, f"columns: {', '.join(headers[:12])}", *cures)


def _time_headers(headers: Sequence[str], value: str | None) -> list[str]:
    """Return the headers of times, except the header `value`, such as a temperature T."""
    return [each for each in headers if _split(each)[0].lower() in TIME_NAMES and value not in (each, _split(each)[0])]


def _numbers(name: str, header: str, column: Any) -> np.ndarray:
    """Return a column as floats: dates as seconds since the first date, durations as seconds."""
    dates = getattr(column, "dt", column)  # a Series has its date methods in `dt`
    if getattr(dates, "tz", None) is not None:
        column = dates.tz_convert(None)
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if array.dtype.kind in "mM":
        missing = np.isnat(array)
        since = array if array.dtype.kind == "m" else array - array[np.argsort(missing, kind="stable")[:1]]
        return np.where(missing, np.nan, since / np.timedelta64(1, "s"))
    if array.dtype.kind == "O" and hasattr(column, "isna") and getattr(column, "nlevels", 1) == 1:
        array = np.where(np.asarray(column.isna()), np.nan, array)
    numbers = real(array if array.dtype.kind != "O" else array.tolist())
    if numbers is None:
        cells = (np.array(column, dtype=object) if isinstance(column, (list, tuple)) else array).ravel().tolist()
        texts = [cell for cell in cells if isinstance(cell, str)]
        words = [text for text in texts if _number(text, False) is None]
        if texts and not words:
            cure = "pandas.to_numeric(...) of this column"
        elif words and _moment(words[0]) is not None:
            cure = "pandas.to_datetime(...) of this column"
        else:
            cure = "a column of numbers, with nan for a missing number"
        first = (words or texts or cells)[:1]
        raise _refused("E444", name, f'"{header}" contains cells that are not numbers', f"the first: {first}", cure)
    return numbers


def _read_file(name: str, path: Path, value: str | None, over: str | None) -> _Columns:
    try:
        content = path.read_bytes()
    except OSError as error:
        title, why = f'"{path}" cannot be read', error.strerror or str(error)
        raise _refused("E444", name, title, why, "the path of a CSV file") from error
    try:
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        lines = content.decode(encoding).splitlines()
    except UnicodeDecodeError:
        lines = content.decode("cp1252", errors="replace").splitlines()
    if any("\0" in line for line in lines) or content[:4] == b"PK\3\4":
        cures = ("the table saved as CSV", f'pandas.read_excel("{path}") instead of the path, if it is an Excel file')
        raise _refused("E444", name, f'"{path}" is not a text file', "", *cures)
    labels = [k for k, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    if not labels:
        raise _refused("E444", name, f'"{path}" contains no rows', "", "a CSV file with a header and rows")
    first = lines[labels[0] - 1]
    unquoted = re.sub('"[^"]*"', "", first)
    delimiter = next((mark for mark in ";\t," if mark in unquoted), ",")
    comma = delimiter != ","
    if (
        delimiter not in unquoted
        and len(cells := lines[labels[-1] - 1].split()) > 1
        and all(_number(each, True) for each in cells)
    ):
        skipped = f", skiprows={labels[0]}" if None in [_number(each, True) for each in first.split()] else ""
        title, cure = f'the columns of "{path}" are separated by spaces', f'tuple(numpy.loadtxt("{path}"{skipped}, unpack=True))'
        raise _refused("E444", name, title, lines[labels[-1] - 1].strip()[:60], "commas between the columns", cure)
    headers, units = _row(first, delimiter), dict[str, str]()
    if all(_number(cell, comma) is not None or _moment(cell) is not None for cell in headers):
        above = lines[labels[0] - 2].lstrip() if labels[0] > 1 else ""
        named = _row(above.lstrip("#"), delimiter) if above.startswith("#") else []
        headers = named if len(named) == len(headers) else [f"column {k}" for k in range(1, len(headers) + 1)]
    else:
        labels = labels[1:]
        below = _row(lines[labels[0] - 1], delimiter) if labels else []
        entries = [_number(cell, comma) if _moment(cell) is None else 0.0 for cell in below]
        if len(below) == len(headers) and None in entries and all(each is None or np.isnan(each) for each in entries):
            units = {h: cell.strip("[]()") for h, cell, each in zip(headers, below, entries, strict=True) if each is None}
            labels = labels[1:]
    without_times = over is None and not _time_headers(headers, value)
    along = headers[0] if without_times else _header_of(name, headers, over, "over", value)
    column = _header_of(name, headers, value, "value", along)
    for k in labels:
        if lines[k - 1].count(delimiter) >= len(headers) and any(_row(lines[k - 1], delimiter)[len(headers) :]):
            cures = ("a header for each column", "semicolons between columns whose numbers have decimal commas")
            raise _refused("E444", name, f"line {k} has more cells than headers", lines[k - 1][:60], *cures)
    numbers, has_dates = _cells(name, lines, labels, (headers.index(along), headers.index(column)), delimiter)
    for each in (along, column):
        if units.setdefault(each, _split(each)[1]) != (_split(each)[1] or units[each]):
            title = f'two units for "{each}": the row below gives "{units[each]}"'
            raise _refused("E445", name, title, "", "one of the two")
    return _Columns(numbers[:, 0], numbers[:, 1], along, column, "s" if has_dates else units[along], units[column], labels)


def _row(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]


def _cells(
    name: str, lines: Sequence[str], labels: Sequence[int], where: tuple[int, int], delimiter: str
) -> tuple[np.ndarray, bool]:
    """Return two columns (rows, 2) of a file, and True if the first column had dates, now in s. Cells without a number become
    NaN; other text raises E444."""
    rows = [lines[k - 1] for k in labels]
    if not rows:
        return np.empty((0, 2)), False
    try:
        return np.loadtxt(rows, delimiter=delimiter, usecols=where, quotechar='"', ndmin=2, comments=None).reshape(-1, 2), False
    except (ValueError, IndexError):
        pass
    comma, numbers, marks = delimiter != ",", np.empty((len(rows), 2)), dict[str, int]()
    cells = [[row[at] if at < len(row) else "" for at in where] for row in csv.reader(rows, delimiter=delimiter)]
    moments = _with_days(name, [_moment(points) for points, _ in cells], labels)
    first = next((moment for moment in moments if moment is not None), None)
    for k, row in enumerate(cells):
        for j, cell in enumerate(row):
            since = None if first is None or j else _seconds(moments[k], first)
            number = _number(cell, comma) if since is None else since
            if number is None or (first is not None and since is None and not j and not np.isnan(number)):
                cures = ("a number, or an empty cell", 'dates as "2026-01-31 12:00:00", all with a time zone or all without')
                raise _refused("E444", name, f"line {labels[k]} contains no number", f"{cell!r}", *cures[: 2 - j])
            numbers[k, j] = number
            marks |= {mark: labels[k] for mark in ",." if mark in cell and since is None}
    if len(marks) == 2:
        why = "lines " + " and ".join(map(str, marks.values()))
        raise _refused(
            "E444", name, "numbers have decimal commas and points", why, "one decimal mark, and no thousands separator"
        )
    return numbers, first is not None


def _moment(cell: str) -> datetime.datetime | None:
    """Return the date, or the time of day, in a cell in ISO 8601 format; None for any other text, and for numbers."""
    text = cell.strip()
    if "-" not in text[1:] and ":" not in text:
        return None
    for candidate in (text, f"{_DAY}T{text}"):
        try:
            return datetime.datetime.fromisoformat(candidate)
        except ValueError:
            pass
    return None


def _with_days(name: str, moments: Sequence[datetime.datetime | None], labels: Sequence[int]) -> list[datetime.datetime | None]:
    """Return the dates; times of day move to the next day when they pass midnight. Raises E446 if the day is ambiguous."""
    counted, days, last, ahead = list(moments), 0, None, 0
    for k, moment in enumerate(moments):
        if moment is None or moment.date() != datetime.date.fromisoformat(_DAY):
            continue
        step = 0.0 if last is None else _seconds(moment, last) or 0.0
        days, last, ahead = days + (step < -_HALF_A_DAY), moment, ahead or (labels[k] if step > _HALF_A_DAY else 0)
        counted[k] = moment + datetime.timedelta(days)
    if days and ahead:
        why = f"line {ahead} jumps forwards by more than 12 h, and another line backwards by more than 12 h"
        raise _refused("E446", name, "the day of a time of day is ambiguous", why, 'dates with the times: "2026-01-31 23:59:58"')
    return counted


def _seconds(moment: datetime.datetime | None, first: datetime.datetime) -> float | None:
    if moment is None or (moment.tzinfo is None) != (first.tzinfo is None):
        return None
    return (moment - first).total_seconds()


def _number(cell: str, comma: bool) -> float | None:
    text = cell.strip()
    if text.lower() in _MISSING:
        return np.nan
    try:
        return float(text.replace(",", ".") if comma and text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return None


def _converted(name: str, header: str, numbers: np.ndarray, unit: str, expected: str, cure: str) -> Any:
    if unit == "g" and not expected:
        title = f'the unit "g" of "{header}" may be the gram or the standard gravity'
        raise _refused("E445", name, title, "", 'unit="kg" for a mass', 'a header in "gn" for an acceleration')
    convert = conversion(unit, expected)
    if isinstance(convert, Unreadable):
        title = f'the unit "{unit}" of "{header}" cannot be read'
        raise _refused("E445", name, title, convert.why, "a unit that can be read", "a header without a unit")
    if isinstance(convert, Mismatch):
        title, units = f'the unit "{unit}" of "{header}" has the wrong dimension', ", ".join(convert.cures) or "SI"
        raise _refused("E445", name, title, convert.why, f"a header in {units}", cure)
    return convert(numbers) if isinstance(convert, Conversion) else numbers


def _refused(code: str, name: str, title: str, why: str, *cures: str) -> ModelError:
    return refusal(code, f'measured input "{name}": {title}', *cures, about=name, why=why or ())
