"""Derivatives by the interpreter agree with the derivatives that `tape.differentiate` writes out."""

import ctypes
import functools
import threading

import numpy as np
import pytest

import screws.scalars as s
from bondgraph import J1, C, Graph, I, R, compile_model
from tests.compilers import COMPILERS, by_compiler, needed
from tests.emit.expressions import EXPRESSIONS, FORMULAS
from tests.inner.emit import (
    MAX_ARGUMENTS,
    STRIP,
    address_of,
    aligned_zeros,
    derivatives,
    execute,
    interpret,
    machine_code,
    numpy_kernel,
    procedures,
    rule,
    texts,
)
from tests.inner.run import Bound
from tests.inner.tape import Routine, Tape, jacobian, reachable
from tests.inner.tape import opcodes as op


def both(formulas, n, **constants):
    tape = Tape()
    before = tape.inputs("before", len(constants)) if constants else []
    x = tape.inputs("x", n)
    blocks = ((("before", len(constants)),) if constants else ()) + (("x", n),)
    outputs = tuple(formula(*x, *before) for formula in formulas)
    routine = Routine("formulas", tape, blocks, outputs)
    kernel, (indptr, indices) = derivatives(routine, "x", "slopes")
    written = jacobian(outputs, x)
    nonzeros = Routine("J", tape, blocks, written.values)

    def interpreted(*point):
        dense = np.zeros(written.shape)
        dense[indices, np.repeat(np.arange(n), np.diff(indptr))] = kernel(*point)
        return dense

    def expected(*point):
        dense = np.zeros(written.shape)
        dense[list(written.rows), list(written.columns)] = numpy_kernel(nonzeros)(*point)
        return dense

    return interpreted, expected, {tape.nodes[k][0] for k in reachable(tape, [tape.scalar(o).index for o in outputs])}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_have_the_derivatives_that_are_written_down(name):
    formula, (low, high) = FORMULAS[name]
    interpreted, expected, _ = both([formula], 3)
    for point in np.random.default_rng(5).uniform(low, high, (20, 3)):
        np.testing.assert_allclose(interpreted(point), expected(point), rtol=1e-13, atol=1e-14)


def test_the_formulas_have_every_instruction():
    met = set().union(*(both([formula], 3)[2] for formula, _ in FORMULAS.values()))
    assert met >= set(range(len(op.NAMES))) - {op.DIVIDE, op.TABLE_OF_INPUTS}  # a tape writes a / b as a (1 / b)


def test_unselected_values_may_be_nonfinite():
    safe = [lambda a, b, c: s.where(s.less(0.0, a), s.sqrt(a) * b, 2.0 * a), lambda a, b, c: s.sqrt(a) + c]
    interpreted, _, _ = both(safe, 3)
    np.testing.assert_array_equal(interpreted([0.0, 1.0, 1.0]), [[2.0, 0.0, 0.0], [np.inf, 0.0, 1.0]])


def test_kinks_take_the_branch_that_is_written_down():
    kinks = [
        lambda a, b, c: s.absolute(a) * b,
        lambda a, b, c: s.minimum(a, b) + s.maximum(b, c),
        lambda a, b, c: s.maximum(a, 0.0) ** c,
    ]
    interpreted, expected, _ = both(kinks, 3)
    for point in ([0.0, 0.0, 1.0], [-1.0, -1.0, 2.0], [2.0, 2.0, 2.0], [-0.0, 3.0, 1.0]):
        np.testing.assert_array_equal(interpreted(point), expected(point))


@pytest.mark.parametrize("n", [1, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP + 5])
def test_strips_of_columns_and_blocks_before_the_variables(n):
    rng = np.random.default_rng(n)
    chosen = rng.integers(0, n, (n + 3, 3))

    def formula(i, j, k):
        return lambda *x: x[i] * s.sin(x[j]) + x[-1] * x[k] ** 2 - x[-2]

    interpreted, expected, _ = both([formula(*places) for places in chosen], n, first=1, second=2)
    constants, x = rng.normal(size=2), rng.normal(size=n)
    np.testing.assert_allclose(interpreted(constants, x), expected(constants, x), rtol=1e-13, atol=1e-15)


def test_models_side_by_side_take_the_places_of_one():
    def own(k):
        return lambda *x: x[3 * k] * s.sin(x[3 * k + 1]) + s.exp(x[3 * k + 2])

    formulas, x = [own(k) for k in range(50)], np.random.default_rng(3).normal(size=150)
    interpreted, expected, _ = both(formulas, 150)
    np.testing.assert_allclose(interpreted(x), expected(x), rtol=1e-14)
    tape = Tape()
    given = tape.inputs("x", 150)
    routine = Routine("formulas", tape, (("x", 150),), tuple(formula(*given) for formula in formulas))
    assert derivatives(routine, "x", "slopes")[0].steps.groups == 3
    together, dense, _ = both([*formulas, lambda *x: sum(x[::3])], 150)
    np.testing.assert_allclose(together(x), dense(x), rtol=1e-14)


def test_many_points_are_evaluated_one_by_one():
    tape = Tape()
    x, y = tape.inputs("x", 2), tape.inputs("y", 1)
    kernel, _ = derivatives(Routine("f", tape, (("x", 2), ("y", 1)), (x[0] * x[1], s.sin(x[1]) * y[0])), "x", "slopes")
    points = np.random.default_rng(4).normal(size=(5, 2))
    np.testing.assert_array_equal(kernel.many(points, 2.0), [kernel(point, 2.0) for point in points])


def test_constant_outputs_have_no_derivatives():
    interpreted, expected, _ = both([lambda a, b: 2.0, lambda a, b: b, lambda a, b: s.sign(a)], 2)
    np.testing.assert_array_equal(interpreted([1.0, 2.0]), [[0, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(expected([1.0, 2.0]), [[0, 0], [0, 1], [0, 0]])


def test_threads_do_not_meet():
    interpreted, expected, _ = both([lambda a, b: s.sin(a) * b, lambda a, b: a**3 / b], 2)
    wrong = []

    def call(k):
        for _ in range(200):
            if not np.allclose(interpreted([k, 1.0 + k]), expected([k, 1.0 + k]), rtol=1e-13):
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(float(k + 1),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_error_control_sees_the_jacobian_of_a_model():
    graph = Graph("oscillator")
    velocity = J1("velocity")
    graph.connect(velocity, I("mass", inertia=2.0))
    graph.connect(velocity, C("spring", energy=lambda q: 1.5 * q**2 + q**4 / 4))
    graph.connect(velocity, R("damper", effort=lambda f: 0.1 * f * s.absolute(f)))
    compiled = compile_model(graph)
    bound = Bound(compiled.program, compiled.parameters())
    x, m = np.array([0.3, -0.7]), np.zeros(0)
    couplings, jacobian_of = bound.jacobian_couplings(0.0, x, m), np.abs(bound.jacobian(0.0, x, m))
    np.testing.assert_allclose(couplings.diagonal, np.diag(jacobian_of), rtol=1e-14)
    beside = jacobian_of[couplings.structure.rows, couplings.structure.columns]
    np.testing.assert_allclose(couplings.values, beside, rtol=1e-14)
    assert len(couplings.values) == 2


def every_instruction():
    tape = Tape()
    x = tape.inputs("x", 9)
    outputs = [formula(*x[k % 6 : k % 6 + 3]) for k, (formula, _) in enumerate(EXPRESSIONS.values())]
    outputs += [outputs[k] * outputs[k - 1] + x[k % 9] for k in range(len(outputs))]
    return derivatives(Routine("formulas", tape, (("x", 9),), tuple(outputs)), "x", "slopes")[0]


def memory(table, steps):
    values, rows = np.repeat(steps.start, table.lanes), aligned_zeros(table.rows * table.stride * table.lanes)
    rows.reshape(table.rows, table.stride, -1)[table.seed_rows, steps.seed_groups] = 1.0
    return values, rows


def points(random, count):
    return random.choice([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, np.nan, *random.uniform(-3.0, 3.0, 30)], (count, 9))


@pytest.mark.parametrize("lanes", [4, 8])
def test_lanes_have_the_bits_of_a_run_alone(lanes):
    kernel = every_instruction()
    steps, table = kernel.steps, kernel.steps.in_lanes(lanes)
    values, rows = memory(table, steps)
    code = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2)(machine_code(lanes).address("interpret"))

    def found(table_steps):
        code(*map(address_of, (table_steps, values, rows, table.columns)), len(table_steps), len(steps.start) - len(table_steps))
        return rows.reshape(table.rows, table.stride, lanes)[table.entry_rows, steps.entry_groups].T

    random, met = np.random.default_rng(8), 0
    for _ in range(30):
        given = points(random, lanes)
        values.reshape(-1, lanes)[steps.positions] = given.T[steps.indices]
        quick, alone = found(table.steps(is_guarded=False)), np.array([kernel(point) for point in given])
        np.testing.assert_array_equal(
            found(table.steps()).view(np.int64)[~np.isnan(alone)], alone.view(np.int64)[~np.isnan(alone)]
        )
        np.testing.assert_array_equal(quick[~np.isnan(quick)], alone[~np.isnan(quick)])
        met += np.isnan(quick[~np.isnan(alone)]).sum()
    assert met > 10


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_text_of_the_interpreter_is_the_same_function_in_cpython():
    kernel = every_instruction()
    steps, table = kernel.steps, kernel.steps.table(1, 1)
    values, rows = memory(table, steps)
    fields = table.fields.astype(object)
    for step, operation, bits in zip(fields, *table.variants.tolist(), strict=True):
        varying = tuple(k for k in range(MAX_ARGUMENTS) if bits >> k & 1)
        step[0] = functools.partial(execute, rule=rule(operation), varying=varying, is_guarded=True)
    random = np.random.default_rng(9)
    for point in points(random, 4):
        values[steps.positions] = point[steps.indices]
        interpret(fields.ravel(), values, rows, table.columns, len(fields), len(values) - len(fields), 1)
        found = rows.reshape(table.rows, table.stride)[table.entry_rows, steps.entry_groups]
        np.testing.assert_allclose(found, kernel(point), rtol=1e-12)


@needed
@pytest.mark.parametrize(("name", "expected"), [("searchsorted", 2.0), ("take", 7.0)])
def test_c_calls_the_lookups_in_tables(name, expected):
    (code,) = (each for each in procedures(1) if each.name == f"step_{name}")
    library = by_compiler(COMPILERS[0], [code], texts(1))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(library.address(code.name))
    values, step = np.array([2.5, 1.0, 2.0, 7.0, 9.0, np.nan]), np.array([0, 0, 1, 4])
    function(*map(address_of, (step, values, values, values[5:], step)))
    assert values[5] == expected


def test_of_more_columns_than_fit_none_go_in_lanes():
    tape = Tape()
    x = tape.inputs("x", STRIP + 1)
    apart, together = (Routine("formulas", tape, (("x", STRIP + 1),), outputs) for outputs in (tuple(x), (sum(x, start=0.0),)))
    assert derivatives(apart, "x", "slopes")[0].steps.in_lanes(8) is not None
    assert derivatives(together, "x", "slopes")[0].steps.in_lanes(8) is None


def test_columns_that_no_output_has_in_common_go_together():
    for n in (7, 3 * STRIP, 3 * STRIP + 1):
        tape = Tape()
        x = tape.inputs("x", n)
        outputs = tuple(s.sin(x[k - 1] * x[k]) / (2.0 + x[(k + 1) % n]) for k in range(n))
        kernel, (indptr, indices) = derivatives(Routine("ring", tape, (("x", n),), outputs), "x", "slopes")
        steps, columns = kernel.steps, np.repeat(np.arange(n), np.diff(indptr))
        assert steps.groups in (3, 4, 5)
        for output in range(n):
            assert len(set(steps.entry_groups[indices == output])) == 3
        point = np.random.default_rng(n).normal(size=n)
        found = kernel(point)
        for column in (0, 1, n // 2, n - 1):
            rest = tuple(point[k] if k != column else x[column] for k in range(n))
            alone = [s.sin(rest[k - 1] * rest[k]) / (2.0 + rest[(k + 1) % n]) for k in range(n)]
            one, (_, outputs_of) = derivatives(Routine("one", tape, (("x", n),), tuple(alone)), "x", "slopes")
            np.testing.assert_array_equal(indices[columns == column], outputs_of)
            np.testing.assert_array_equal(found[columns == column], one(point))
