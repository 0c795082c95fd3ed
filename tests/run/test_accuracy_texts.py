"""Functions of error control give the same bits in machine code and CPython, even for extreme numbers."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from screws import scalars as s
from tests.inner.emit import STRIP, address_of, compile_procedures, derivatives, translate
from tests.inner.run import (
    Bound,
    Callbacks,
    Control,
    ErrorWeights,
    FieldTable,
    PythonCallback,
    error_weights,
    lane_jacobians,
    simd_natural_scales,
)
from tests.inner.run import accuracy_balancing as balancing
from tests.run.problems import program
from tests.run.test_error_control import PROGRAMS

EXTREMES = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e300, -1e300, 1.0)


def machine_code(name, library=None):
    def call(table, *values):
        kept = [ctypes.c_void_p(address_of(v)) if isinstance(v, np.ndarray) else v for v in values]
        kept = [ctypes.c_double(v) if isinstance(v, float) else ctypes.c_int64(v) if isinstance(v, int) else v for v in kept]
        address = (library or error_weights.machine_code()).address(name)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, *map(type, kept))(address)(table.address, *kept)

    return call


def cpython(name, module=error_weights, kind=Control):
    text = getattr(module, name)

    def call(table, *values):
        with np.errstate(all="ignore"):
            text(table.view(), *values)

    return call


def assert_same(one: FieldTable, other: FieldTable) -> None:
    for name in one.arrays.keys() - {"patterns"}:
        np.testing.assert_array_equal(one.arrays[name], other.arrays[name], err_msg=name)
    for name, (_, kind) in Control.layout().items():
        assert kind == "ptr" or np.array_equal(one[name], other[name], equal_nan=True), name


def many():
    made = program(
        lambda t, x, p, m: [sum(x), *(x[0] * x[i] - p[0] * s.cos(t + i) for i in range(1, STRIP + 2))],
        (STRIP + 2, 1, 0),
        powers=lambda t, x, p, m: [x[0] * x[0], p[0] * x[1]],
        roles=("dissipated", "supplied"),
        with_jacobian=False,
    )
    rates = made.in_lanes.args[0]["rates"]
    return replace(made, couple=lambda: derivatives(rates, "x", "couplings"))


def coupled():
    made = program(
        lambda t, x, p, m: [x[1] * p[0], -x[0] + x[2], s.log(x[3]) * x[2], x[0] - x[3]], (4, 1, 0), with_jacobian=False
    )
    rates = made.in_lanes.args[0]["rates"]
    return replace(made, couple=lambda: derivatives(rates, "x", "couplings"))


CASES = {**PROGRAMS, "many": (many, [1.0]), "coupled": (coupled, [4.0])}


def pair_of(name, atol=None, lanes=1, count=2):
    make, p = CASES[name]
    made = make()
    absolute = None if atol is None else np.full(made.states, atol)
    pair = [ErrorWeights(Bound(made, np.array(p), 3.0, 1.0), 1e-7, absolute, 0.01) for _ in range(count)]
    if lanes > 1:
        kernels = made.in_lanes(lanes)
        for weights in pair:
            weights.use_lanes(kernels)
    return pair


@pytest.mark.parametrize(("name", "rounds", "lanes"), [*((name, 6, 1) for name in PROGRAMS), ("loud", 3, 2), ("many", 1, 1)])
def test_texts_of_error_control_are_the_same_bits_in_cpython(name, rounds, lanes):
    pair, random = pair_of(name, 1e-6 if name == "top" else None, lanes), np.random.default_rng(7)
    n, modes, quadratures = (int(pair[0].table[count]) for count in ("n", "modes", "quadratures"))
    for k in range(rounds):
        x = random.normal(size=n) * 10.0 ** random.uniform(-9.0, 3.0, n)
        if k > 2:
            x = np.where(random.random(n) < 0.5, random.choice(EXTREMES, n), x)
        t, m, q = 0.1 * k, random.integers(0, 2, modes).astype(float), random.choice(EXTREMES, quadratures)
        step = (10.0 ** random.uniform(-6.0, -2.0), 10.0 ** random.uniform(-16.0, -9.0))
        calls = [("weights_reset", ())] if k == 3 else []
        calls += [
            ("weights_raise_sizes", (x,)),
            ("weights_begin", (t, x, q, m)),
            ("weights_refresh", (t, x, m)),
            ("couplings", (t, x, m)),
        ]
        calls += [("local_scales", (t, x, m, np.abs(x))), ("weights_test_noise", (t, x, m, *step, k % 2))]
        calls += [("weights_test_noise", (t, x, m, *step, 0))] * (k == 2) + [("weights_decay", (t, x, m, *step, 1))]
        for procedure, values in calls:
            machine_code(procedure)(pair[0].table, *values)
            cpython(procedure)(pair[1].table, *values)
            assert_same(pair[0].table, pair[1].table)


def test_a_reset_leaves_nothing_of_a_run():
    fresh, used = pair_of("loud")
    x, q, step = np.array([1.0, 1e-9, 0.0]), np.ones(2), (1e-4, 1e-16, 0)
    for procedure, values in (("begin", (0.1, x, q, np.zeros(0))), *[("test_noise", (0.1, x, np.zeros(0), *step))] * 2):
        machine_code(f"weights_{procedure}")(used.table, *values)
    assert used.noise.any() and used.table["rejections_before_test"] != fresh.table["rejections_before_test"]
    machine_code("weights_reset")(used.table)
    for name, (_, kind) in Control.layout().items():
        assert kind == "ptr" or name in ("pattern_count", "oldest") or used.table[name] == fresh.table[name], name
    for name in ("size", "floor", "noise", "exceeded", "speed", "scale", "squares"):
        np.testing.assert_array_equal(used.table.arrays[name], fresh.table.arrays[name], err_msg=name)


@pytest.mark.parametrize("way", [machine_code, cpython])
@pytest.mark.parametrize("name", ["refresh", "test_noise", "decay"])
def test_texts_that_call_python_pass_their_arguments(way, name):
    weights, heard = pair_of("oscillator")[0], list[tuple]()
    arguments = FieldTable(Callbacks)

    def listen():
        heard.append((arguments["t"], *arguments.copied("x", 2), *arguments.copied("m", 1)))
        return 0

    callback = PythonCallback(listen)
    arguments.point(name, callback.address)
    weights.table.point("callbacks", arguments)
    step = () if name == "refresh" else (0.5, 1e-6, 0)
    way(f"callback_{name}")(weights.table, 2.0, np.array([3.0, 4.0]), np.array([5.0]), *step)
    callback.check()
    assert heard == [(2.0, 3.0, 4.0, 5.0)]
    assert not step or (arguments["h"], arguments["relative"]) == step[:2]


def test_texts_of_runs_in_lanes_are_the_same_bits_in_cpython():
    runs, random = 8, np.random.default_rng(3)
    both = [pair_of("coupled", count=runs) for _ in range(2)]
    steps = both[0][0]._bound.program.jacobian_couplings[0].steps
    tables = [[weights.table for weights in each] for each in both]
    x, t, m, due = (
        10.0 ** random.uniform(-3.0, 3.0, (runs, 4)),
        random.normal(size=runs),
        np.zeros(0),
        np.array([6, 0, 1, 2, 3, 5, 7]),
    )
    x[2, 2], x[3, 3] = 0.0, -1.0
    places = np.array([address_of(x[k]) for k in due], dtype=np.uint64)
    jacobians, scales = lane_jacobians, simd_natural_scales
    texts = (scales.scale_ahead, partial(jacobians.couple_ahead, lanes=runs))
    by_llvm = compile_procedures([*balancing.procedures(4), *translate(texts, ("scale_ahead", "couple_ahead"))])
    ahead = [jacobians.lane_couplings(steps, runs, each) for each in tables]
    wide = [t, np.zeros((4, runs)), np.full((1, runs), 4.0), np.zeros((0, runs))]
    wide[1][:, : len(due)] = x[due].T
    machine_code("couple_ahead", by_llvm)(ahead[0], *wide, due, len(due))
    cpython("couple_ahead", jacobians, jacobians.LaneJacobians)(ahead[1], *(a.reshape(-1) for a in wide), due, len(due), runs)
    for pair in zip(*tables, strict=True):
        assert_same(*pair)
    ahead = [scales.lane_scales(4, len(tables[0][0].arrays["values"]), each) for each in tables]
    machine_code("scale_ahead", by_llvm)(ahead[0], t, places, places, due, len(due))
    cpython("scale_ahead", scales, scales.LaneScales)(ahead[1], t, [x[k] for k in due], [m for _ in due], due, len(due))
    levels = [int(each["scaled"]) for each in tables[0]]
    assert levels == [2, 2, 0, 0, 0, 2, 2, 0]
    for pair in zip(*tables, strict=True):
        assert_same(*pair)
