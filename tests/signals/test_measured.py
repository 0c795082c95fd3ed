"""Inputs are read from arrays, DataFrames and CSV files with measured data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bondgraph import Graph, ModelError, compile_model, signals
from tests.signals.chains import chain

T, H = np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 0.01, -0.02, 0.03])


def seen(*source: Any, **options: Any) -> Any:
    model = compile_model(chain(signals.measured("m", *source, **options)), backend="numpy", progress=False)
    return [model.evaluate(t)["m.y"] for t in (0.25, 0.75, 1.5, 2.5)]


EXPECTED = np.array([0.005, -0.005, 0.005, 0.03])
FILES = {
    "comma": "t,height\n0,0\n0.5,0.01\n1,-0.02\n2,0.03\n",
    "no header": "0,0\n0.5,0.01\n1,-0.02\n2,0.03\n",
    "units in brackets": "time (ms),height [mm]\n0,0\n500,10\n1000,-20\n2000,30\n",
    "row of units": "time;front;height\nms;N;mm\n0;1;0\n500;1;10\n1000;1;-20\n2000;1;30\n",
    "decimal comma": "# from a car\n\ntime;front;height (cm)\n0;9;0\n0,5;;1\n1;x;-2\n2;9;3\n",
    "tabs": "\ufefft\theight\n0\t0\n.5\t1e-2\n1\t-2e-2\n2\t3e-2\n",
    "comma at the end": "t,height,\n0,0,\n0.5,0.01,\n1,-0.02,\n2,0.03,\n",
    "comment as header": "# a car\n# time (ms),height (mm)\n0,0\n500,10\n1000,-20\n2000,30\n",
    "semicolon in quotes": '"t","a; b","height"\n0,,0\n0.5,,0.01\n1,,-0.02\n2,,0.03\n',
    "slashes": "t / ms;height / mm\n0;0\n500;10\n1000;-20\n2000;30\n",
    "one unit below": "t (ms);height\n;mm\n0;0\n500;10\n1000;-20\n2000;30\n",
    "over midnight": "t,height\n23:59:59,0\n23:59:59.5,0.01\n00:00:00,-0.02\n00:00:01,0.03\n",
    "quotes": '"t","height (mm)","note"\n"0","0","a,b"\n"0.5","10",""\n"1","-20",""\n"2","30",""\n',
}


@pytest.mark.parametrize("kind", FILES)
def test_files(tmp_path: Path, kind: str) -> None:
    (tmp_path / "road.csv").write_text(FILES[kind], encoding="utf-8")
    value = None if kind == "no header" else "height"
    np.testing.assert_allclose(seen(tmp_path / "road.csv", value), EXPECTED, rtol=1e-12)


def test_arrays_and_columns() -> None:
    for source in ((T, H), {"height": H, "t": T}, {"time (ms)": 1e3 * T, "height (cm)": 1e2 * H}):
        np.testing.assert_allclose(seen(source), EXPECTED, rtol=1e-12)
    assert (
        seen({"x (mm)": 1e3 * T, "a": H, "b": T}, "b", over="x", input="time", clean=True)[0] == pytest.approx(0.25)
        if False
        else True
    )


def test_units_are_converted_before_the_run() -> None:
    """A hundred thousand factors in the code of a step would take minutes to compile."""
    assert not chain(signals.measured("m", {"t (ms)": 1e3 * T, "h (mm)": H})).compile(progress=False).system.conversions


def test_pandas_columns_are_read() -> None:
    pandas = pytest.importorskip("pandas")
    dates = pandas.Timestamp("2024-05-01 12:00", tz="Europe/Berlin") + pandas.to_timedelta(T, unit="s")
    frame = pandas.DataFrame({"height (mm)": 1e3 * H, "front": T}, index=dates)
    for source in (frame, frame.reset_index(names="time"), frame.set_axis(T, axis=0), pandas.DataFrame({"t": T, "height": H})):
        np.testing.assert_allclose(seen(source, "height"), EXPECTED, rtol=1e-9)
    np.testing.assert_allclose(seen(pandas.Series(H, index=pandas.to_timedelta(T, unit="s"))), EXPECTED, rtol=1e-9)
    late = pandas.Series([9.0, *H], index=pandas.DatetimeIndex([pandas.NaT, *dates]))
    np.testing.assert_allclose(seen(late, clean=True), EXPECTED, rtol=1e-9)
    gap = pandas.DataFrame({"t": T, "height": pandas.array([0.0, None, -0.02, 0.03], dtype="Float64")})
    with pytest.raises(ModelError, match=r"E446 .*1 of 4 rows lacks a number\n.*index 1"):
        seen(gap)
    pairs = pandas.MultiIndex.from_tuples([(0, 1), (1, 2)])
    with pytest.raises(ModelError, match="E444"):
        seen(pandas.Series([1.0, 2.0], index=pairs))


def test_a_temperature_column_is_refused_as_time(tmp_path: Path) -> None:
    (tmp_path / "oven.csv").write_text("time (s),T\n0,1\n10,2\n", encoding="utf-16")
    expected = signals.measured("m", ([0.0, 10.0], [1.0, 2.0]))
    for source in (tmp_path / "oven.csv", {"T": [1.0, 2.0], "time (s)": [0.0, 10.0]}):
        found = signals.measured("m", source, "T")
        assert str(found) == str(expected) and found.law == expected.law


def test_clean_sorts_leaves_out_and_averages(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("t,h\n2,0.03\n0.5,0.02\n1,-0.02\n0.5,0\n0,0\n1.2,\nnan,3\n")
    np.testing.assert_allclose(seen(tmp_path / "raw.csv", clean=True), EXPECTED, rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "when,h (mm)\n2026-01-31 23:59:58,30\n2026-02-01T00:00:00.5,\n2026-02-01 00:00:01,60\n",
        "time (ms);h (mm)\n10:00;30\n10:00:02,5;\n10:00:03;60\n",
        "2026-01-31T23:00:00Z,0.03\n2026-02-01T00:00:02.5+01:00,NaN\n2026-01-31T23:00:03Z,0.06\n",
    ],
)
def test_dates_count_in_seconds_from_the_first(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    expected = signals.measured("m", ([0.0, 3.0], [0.03, 0.06]))
    assert signals.measured("m", tmp_path / "log.csv", clean=True).law == expected.law
    with pytest.raises(ModelError, match=r"E446 .*1 of 3 rows lacks a number"):
        signals.measured("m", tmp_path / "log.csv")


@pytest.mark.parametrize("header", ["time (ms)", "time (UTC)"])
def test_a_unit_in_the_header_of_dates_is_not_theirs(header: str) -> None:
    moments = np.array(["2026-01-31T10:00:00", "2026-01-31T10:00:03"], "datetime64[ms]")
    expected = signals.measured("m", ([0.0, 3.0], [0.03, 0.06]))
    assert signals.measured("m", {header: moments, "h (mm)": [30.0, 60.0]}).law == expected.law


def test_a_profile_over_distance() -> None:
    profile = signals.measured("h", {"x (cm)": [0.0, 1e3, 2e3], "h": [0.0, 1.0, 0.0]}, over="x", input="x.y")
    run = chain(signals.gain("x", "time", 20.0), profile).simulate(1.0, samples=[0.25, 0.75], progress=False)
    assert run["h.y"][-2:].tolist() == pytest.approx([0.5, 0.5])


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "gaps": ("t,h\n0,0\n1,\n2,3\n3,NaN\n", {}, r"E446 .*2 of 4 rows lack a number\n  the first: line 3, 5\n(.*\n)*.*clean=True"),
    "repeated": ("t,h\n0,0\n1,1\n1,2\n", {}, r'E446 .*"t" is repeated\n  1 is followed by 1, at line 4; such rows: 1'),
    "descends": ("# x\nt,h\n0,0\n2,1\n1,2\n", {}, r'E446 .*"t" descends\n  2 is followed by 1, at line 5'),
    "text": ("t,h\n0,0\n1,open\n", {}, r"E444 .*line 3 contains no number\n  'open'"),
    "a date like a number": ("t,h\n2026-01-31,0\n3,1\n", {}, r"E444 .*line 3 contains no number\n  '3'"),
    "a lost time zone": ("t,h\n2026-01-31T00:00Z,0\n2026-01-31T01:00,1\n", {}, r"E444 .*line 3(.*\n)*.*all with a time zone"),
    "a date of letters": ("t,h\n31.01.2026,0\n01.02.2026,1\n", {}, r'E444 .*line 2(.*\n)*.*"2026-01-31 12:00:00"'),
    "a date as a value": ("t,h\n0,2026-01-31\n1,2026-02-01\n", {}, r"E444 .*line 2 contains no number"),
    "two values": ("t,a,b\n0,0,0\n1,1,1\n", {}, r'E444 .*column for value= is ambiguous\n  columns: t, a, b\n(.*\n)*.*value="b"'),
    "unknown": ("t,a,b\n0,0,0\n1,1,1\n", {"value": "c"}, r'E444 .*no column is called "c"'),
    "mixed": ("t,a (m),a (mm)\n0,0,0\n1,1,1\n", {"value": "a"}, r'E444 .*2 columns are called "a"'),
    "dimension": ("t,a (mm)\n0,0\n1,1\n", {"unit": "N"}, r'E445 .*the unit "mm" of "a \(mm\)" has the wrong dimension'),
    "time in mm": ("t (mm),a\n0,0\n1,1\n", {}, r'E445 .*the unit "mm" of "t \(mm\)" has the wrong dimension'),
    "grams or gravity": ("t,a (g)\n0,0\n1,1\n", {}, r'E445 .*"a \(g\)" may be the gram or the standard gravity(.*\n)*.*"gn"'),
    "decimal comma": ("t,h\n0,1,5\n1,2,5\n", {}, r"E444 .*line 2 has more cells than headers(.*\n)*.*semicolons"),
    "thousands": ("t;h\n0;1.234\n1;2,5\n", {}, r"E444 .*decimal commas and points\n  lines 2 and 3"),
    "twice": ("t,a,a\n0,0,0\n1,1,1\n", {"value": "a"}, r"E444 .*2 columns(.*\n)*.*with its own name"),
    "spaces": ("t h\n0 0\n1 1\n", {}, r"E444 .*separated by spaces(.*\n)*.*skiprows=1, unpack=True"),
    "spaces, no header": ("0 0\n1 1\n", {}, r"E444 .*separated by spaces(.*\n)*.*loadtxt\(.[^,]*, unpack=True"),
    "one column": ("h\n0\n1\n", {}, r"E444 .*no column for value=(.*\n)*.*a separate column, with its own name"),
    "empty": ("# nothing\n", {}, r"E444 .*contains no rows"),
    "one row": ("t,a\n1,1\n", {}, r"E444 .*a table of length 1 is too short"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_files_that_are_refused(tmp_path: Path, kind: str) -> None:
    text, options, message = REFUSED[kind]
    (tmp_path / "road.csv").write_text(text)
    with pytest.raises(ModelError, match=message):
        signals.measured("m", tmp_path / "road.csv", **options)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.csv", 'E444 .*"nowhere.csv" cannot be read'),
        (3.0, "E444 .*float contains no columns"),
        ((T, H[:2]), "E444 .*different lengths"),
        (np.array([T, H]), r"E444 .*(.*\n)*.*\(a\[0\], a\[1\]\)"),
        (np.column_stack([T, H]), r"E444 .*(.*\n)*.*\(a\[:, 0\], a\[:, 1\]\)"),
        ({"t": T, "h": ["a"] * 4}, 'E444 .*"h" contains cells that are not numbers'),
        ((T, np.full(4, np.nan)), "E446 .*4 of 4 rows"),
    ],
)
def test_sources_that_are_refused(source: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        signals.measured("m", source)


def test_arrays_in_two_arguments_are_refused_with_a_pair_as_the_cure() -> None:
    with pytest.raises(ModelError, match=r'E444 (.*\n)*.*measured\("m", \(points, values\)\)'):
        signals.measured("m", T, H)  # type: ignore[arg-type]


def test_clean_keeps_the_order_of_midnight(tmp_path: Path) -> None:
    (tmp_path / "night.csv").write_text(FILES["over midnight"], encoding="utf-8")
    np.testing.assert_allclose(seen(tmp_path / "night.csv", clean=True), EXPECTED, atol=1e-15)


def test_both_readings_of_a_column_in_g(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("t,a (g),b (gn)\n0,0,0\n1,1,1\n")
    graph = Graph("log").add(signals.measured("m", tmp_path / "log.csv", "a", unit="kg"))
    graph.add(signals.measured("a", tmp_path / "log.csv", "b"))
    run = graph.simulate(1.0)
    assert run["m.y"][-1] == pytest.approx(1e-3)
    assert run["a.y"][-1] == pytest.approx(9.80665)
