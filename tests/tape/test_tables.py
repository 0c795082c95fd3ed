"""Tables on a tape are interpolated by every back end, have derivatives, and remain cheap if long."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from bondgraph import J1, Graph, I, R, Se, compile_model, signals
from bondgraph.export import matlab_source, state_equations, straight_lines
from screws.jets import variables
from screws.scalars import interpolate, searchsorted, take
from tests.inner.emit import compile_routines, numpy_kernel
from tests.inner.export import casadi_forms
from tests.inner.schedule import is_large
from tests.inner.tape import Routine, Tape, jacobian, jumps, listing, specialise
from tests.inner.tape import opcodes as op

SHORT, LONG = np.array([-1.0, 0.25, 2.0]), np.cumsum(np.linspace(0.1, 0.5, 40)) - 6.0
EVEN = np.linspace(-1.3, 2.9, 101)
SEARCHED = {"short": SHORT, "two": SHORT[:2], "even": EVEN, "long": LONG}
SEARCHED |= {f"late by {k}": EVEN + k * 0.042 * np.sin(np.linspace(0.0, np.pi, 101)) ** 2 for k in (-2.5, -1.5, 1.2)}
SEARCHED["groups"] = (4.0 * np.arange(25.0)[:, None] + 0.1 * np.arange(4.0)).ravel()
SEARCHED["crowded"] = np.concatenate([-np.geomspace(1.0, 1e-12, 40), np.geomspace(1e-300, 1.0, 60), [5.0, 5.0 + 1e-14, 9.0]])
SEARCHED["wide"] = np.array([-1.7e308, -1e300, -1.0, 0.0, 1e-300, 1.0, 2.0, 3.0, 1e300, 1.7e308])
KERNELS = [numpy_kernel, lambda routine: compile_routines([routine]).kernel(routine.name)]


def around(points: np.ndarray) -> np.ndarray:
    beside = [np.nextafter(points, end) for end in (-np.inf, np.inf)]
    return np.concatenate(
        [points, *beside, points[:-1] + 0.3 * np.diff(points), points[0] - [1.0, 1e300], points[-1] + [1.0, 1e300]]
    )


def read(points: np.ndarray, *, of_inputs: bool) -> Routine:
    tape = Tape()
    values = tape.inputs("p", len(points)) if of_inputs else np.cos(points)
    u = tape.inputs("x", 1)[0]
    return Routine("read", tape, (("x", 1), ("p", len(points))), (interpolate(u, points, values), searchsorted(points, u)))


@pytest.mark.parametrize("of_inputs", [False, True])
@pytest.mark.parametrize("points", [SHORT, LONG, EVEN], ids=["short", "long", "even"])
def test_every_back_end_interpolates(points, of_inputs):
    routine = read(points, of_inputs=of_inputs)
    u = around(points)
    expected = np.column_stack([np.interp(u, points, np.cos(points)), np.searchsorted(points, u, side="right")])
    blocks = (u[:, None], np.cos(points))
    for kernel in KERNELS:
        np.testing.assert_allclose(kernel(routine).many(*blocks), expected, rtol=1e-13, atol=1e-15)
        assert kernel(routine)(np.array([np.nan]), np.cos(points))[1] == 0.0
    np.testing.assert_allclose(interpolate(u, points, np.cos(points)), expected[:, 0], rtol=1e-13, atol=1e-15)
    symbol = sympy.Symbol("u")
    formula = interpolate(symbol, points, np.cos(points))
    np.testing.assert_allclose([float(formula.subs(symbol, number)) for number in u[::9]], expected[::9, 0], rtol=1e-13)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("points", SEARCHED.values(), ids=SEARCHED)
def test_a_search_counts_points_exactly(points):
    tape = Tape()
    (u,) = tape.inputs("x", 1)
    routine = Routine("count", tape, (("x", 1),), (searchsorted(points, u),))
    at = np.concatenate([around(points), [np.inf, -np.inf, 0.0, -0.0]])
    for kernel in KERNELS:
        found = kernel(routine).many(at[:, None])[:, 0]
        np.testing.assert_array_equal(found, np.searchsorted(points, at, side="right"))


def test_many_rows_of_values_are_read_at_once():
    routine, u = read(LONG, of_inputs=True), around(LONG)
    values = np.random.default_rng(3).normal(size=(len(u), len(LONG)))
    for kernel in KERNELS:
        found = kernel(routine).many(u[:, None], values)[:, 0]
        np.testing.assert_allclose(found, [np.interp(*pair) for pair in zip(u, [LONG] * len(u), values, strict=True)], rtol=1e-12)


@pytest.mark.parametrize("points", [SHORT, LONG], ids=["short", "long"])
def test_the_slope_is_that_of_the_piece_and_the_derivative_by_a_value_is_a_hat(points):
    routine = read(points, of_inputs=True)
    tape, u = routine.tape, points[:-1] + 0.3 * np.diff(points)
    x, p = tape.inputs("x", 1), tape.inputs("p", len(points))
    slopes = jacobian([routine.outputs[0]], [*x, *p]).dense()[0]
    along = Routine("along", tape, routine.blocks, tuple(slopes))
    expected = np.column_stack(
        [np.diff(np.cos(points)) / np.diff(points), *(np.interp(u, points, hat) for hat in np.eye(len(points)))]
    )
    for kernel in KERNELS:
        np.testing.assert_allclose(kernel(along).many(u[:, None], np.cos(points)), expected, rtol=1e-12, atol=1e-13)
    jet = interpolate(variables(u[0], 0.0)[0], points, np.cos(points))
    assert jet.du == pytest.approx(expected[0, 0], rel=1e-12) and jet.duu == 0.0


def test_an_entry_that_becomes_a_number_is_read_as_that_number():
    routine = read(LONG, of_inputs=True)
    outputs = specialise(routine.tape, routine.outputs, {("p", 7): 5.0})
    fixed = Routine("fixed", routine.tape, routine.blocks, outputs)
    row = np.where(np.arange(len(LONG)) == 7, 5.0, np.cos(LONG))
    found = numpy_kernel(fixed).many(around(LONG)[:, None], np.cos(LONG))[:, 0]
    np.testing.assert_allclose(found, np.interp(around(LONG), LONG, row), rtol=1e-13)
    every = {("p", k): float(value) for k, value in enumerate(np.cos(LONG))}
    steps = listing(Routine("constant", routine.tape, routine.blocks, specialise(routine.tape, routine.outputs, every))).steps
    assert op.TABLE in {step[0] for step in steps} and op.TABLE_OF_INPUTS not in {step[0] for step in steps}


@pytest.mark.parametrize("count", [4, 20])
def test_an_index_beyond_the_values_takes_the_end(count):
    values, numbers = np.arange(float(count)) ** 2, np.array([-3.0, 0.0, 2.0, count - 1.0, 1e300, np.nan])
    tape = Tape()
    routine = Routine("end", tape, (("x", 1),), (take(values, tape.inputs("x", 1)[0]),))
    expected = [0.0, 0.0, 4.0, values[-1], values[-1], 0.0]
    for kernel in KERNELS:
        assert kernel(routine).many(numbers[:, None])[:, 0].tolist() == expected
    assert take(values, numbers).tolist() == expected


@pytest.mark.parametrize("count", [4, 20])
def test_the_fraction_of_an_index_is_dropped(count):
    """The derivative, too, is that of the entry whose value is taken."""
    values, tape = np.arange(float(count)) ** 2, Tape()
    entries, x = tape.inputs("p", count), tape.inputs("x", 1)
    blocks = (("p", count), ("x", 1))
    value = take(list(entries), x[0])
    routine, sparse = Routine("value", tape, blocks, (value,)), jacobian([value], entries)
    for kernel in KERNELS:
        assert [kernel(routine)(values, [u])[0] for u in (-0.5, 0.5, 1.999, count - 0.5)] == [0.0, 0.0, 1.0, values[-1]]
        slopes = kernel(Routine("slopes", tape, blocks, sparse.values))
        assert [int(slopes(values, [u]).argmax()) for u in (-0.5, 0.5, 1.999, count + 0.5)] == [0, 0, 1, count - 1]
    casadi = pytest.importorskip("casadi")
    u = casadi.SX.sym("u")
    function = casadi.Function("f", [u], [casadi_forms()["take"](u, list(values))])
    assert [float(function(u)) for u in (-0.5, 0.5, 1.999, count - 0.5, np.nan)] == [0.0, 0.0, 1.0, values[-1], 0.0]
    assert jumps(tape, [value.index], {x[0].index})


@pytest.mark.parametrize("points", [SHORT, LONG], ids=["short", "long"])
def test_nan_stays_nan(points):
    """A NaN input gives NaN; infinite inputs give the end values, as in `np.interp`."""
    u = np.array([np.nan, -np.inf, np.inf])
    for of_inputs in (False, True):
        for kernel in KERNELS:
            found = kernel(read(points, of_inputs=of_inputs)).many(u[:, None], np.cos(points))[:, 0]
            np.testing.assert_array_equal(found, np.interp(u, points, np.cos(points)))
    np.testing.assert_array_equal(interpolate(u, points, np.cos(points)), np.interp(u, points, np.cos(points)))
    assert np.isnan(interpolate(variables(np.nan, 0.0)[0], points, np.cos(points)).value)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.0, 2.0, 1.0], "1.0 follows 2.0 at index 2"),
        ([0.0, 0.0, 1.0], "0.0 follows 0.0 at index 1"),
        ([0.0, 1.0, np.nan], "nan follows 1.0 at index 2"),
        ([-np.inf, 0.0, 1.0], "0.0 follows -inf at index 1"),
        ([0.0, 1.0], "numbers are 2 and 3"),
        ([0.0], "numbers are 1 and 3"),
    ],
)
def test_points_that_do_not_ascend_are_refused(points, message):
    for u in (0.5, Tape().inputs("x", 1)[0]):
        with pytest.raises(ValueError, match=message):
            interpolate(u, points, [1.0, 2.0, 3.0])


def test_a_symbolic_table_compares_its_input_with_each_point_once():
    u, t = sympy.symbols("u t")
    lengths = []
    for count in (20, 80):
        points = np.linspace(-1.0, 3.0, count)
        formula = interpolate(2 * t - 3, points, np.cos(points))
        lengths.append(len(str(formula)))
        assert float(formula.subs(t, 1.7)) == pytest.approx(np.interp(0.4, points, np.cos(points)), rel=1e-12)
    assert lengths[1] < 5 * lengths[0]
    assert take([5.0, 6.0, 7.0], searchsorted([2, 3], u)).args[0] == (5.0, sympy.StrictLessThan(u, 2))
    assert [take([5.0, 6.0, 7.0], u).subs(u, row) for row in range(4)] == [5.0, 6.0, 7.0, 7.0]


def measured(count: int) -> Graph:
    graph, v, t = Graph("measured"), J1("v"), np.linspace(0.0, 20.0, count)
    graph.connect(Se("u", lambda y: y, signals=["data.y"]), v).connect(v, I("m", 1.0)).connect(v, R("r", 1.0))
    graph.add(signals.table("data", "time", t, np.sin(t)))
    return graph


def test_a_measured_input_costs_no_more_steps_for_more_points():
    lengths = set()
    for count in (200, 2000):
        compiled = compile_model(measured(count))
        lengths.add(len(straight_lines(compiled)["rates"].steps))
        (breaks,) = {len(compiled.program.break_names)}
        assert breaks == count
        run = compiled.simulate(20.0, samples=[20.0])
        exact = 0.5 * (np.sin(20.0) - np.cos(20.0) + np.exp(-20.0))
        assert run.ok and run["m.p"][-1] == pytest.approx(exact, abs=2.0 * (20.0 / count) ** 2 / 12.0)
    assert len(lengths) == 1 and lengths.pop() < 60


def test_equations_of_a_measured_input_name_its_piece_once():
    text = str(state_equations(compile_model(measured(60))))
    assert text.count("Heaviside") == 58 and len(text) < 60 * 200


def test_a_table_of_matlab_is_one_row():
    """Inside brackets, a line break without dots would start a new row."""
    lines = matlab_source(compile_model(measured(60))).files["rates.m"].splitlines()
    first = [k for k, line in enumerate(lines) if " = [" in line]
    assert first
    for k in first:
        last = next(n for n in range(k, len(lines)) if lines[n].endswith("];"))
        assert last > k and all(line.endswith(", ...") for line in lines[k:last])


def test_a_large_model_reads_a_measured_input_where_it_lies():
    graph, count = measured(100), 500
    for k in range(count):
        v = J1(f"v{k}")
        graph.connect(Se(f"u{k}", lambda y: y, signals=["data.y"]), v).connect(v, I(f"m{k}", 1.0 + k)).connect(
            v, R(f"r{k}", 1.0 + k)
        )
    compiled = compile_model(graph)
    assert is_large(compiled.system)
    run = compiled.simulate(3.0, samples=[3.0])
    alone = compile_model(measured(100)).simulate(3.0, samples=[3.0])
    expected = np.full(count, alone["m.p"][-1])
    np.testing.assert_allclose([run[f"m{k}.p"][-1] for k in range(count)], expected, rtol=1e-6)


def test_a_table_of_numbers_is_one_leaf_of_the_tape_however_long_it_is():
    """Entries are neither constants of the tape nor arguments of an operation."""
    lengths = set()
    for count in (50, 5000):
        points, tape = np.linspace(-1.0, 1.0, count), Tape()
        searchsorted(points, tape.inputs("x", 1)[0])
        take(points, tape.inputs("x", 1)[0])
        lengths.add(len(tape))
    assert lengths == {4}


def test_a_table_of_one_point_is_a_comparison():
    u = np.array([0.0, 1.0, 2.0, np.nan])
    assert searchsorted([1.0], u).tolist() == searchsorted(np.array([1.0]), u).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_a_row_may_be_an_array_wherever_scalars_of_any_kind_are_looked_up():
    u = sympy.Symbol("u")
    assert take(LONG, searchsorted(LONG, u)) == take(list(LONG), searchsorted(list(LONG), u))
    jet = variables(0.3, 0.0)[0]
    assert take(LONG, searchsorted(LONG, jet)) == take(list(LONG), searchsorted(list(LONG), jet))
