"""Event handling and location give the same bits in machine code and CPython, even for extreme numbers."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from screws import scalars as s
from tests.inner.emit import Fixed, Reals, cold, compile_procedures, translate
from tests.inner.run import (
    HISTORY,
    Bound,
    DenseOutput,
    EventHandler,
    EventTable,
    FieldTable,
    NewtonLoop,
    RunTransition,
    StepTable,
    event_accumulation,
    event_guards,
    event_iteration,
    root_finding,
)
from tests.run.problems import program
from tests.witnesses.firing_guards import FiringGuards

EXTREMES = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e300, -1e300, 1.0)
N, SAMPLES, LOW, HIGH = 3, 4, 0.2, 0.5


@functools.cache
def hopper():
    edges = (
        RunTransition("floor", 0, 0.0, 0.0, "impact", accumulates=1.0),
        RunTransition("floor", 0, 0.0, 1.0, "rest"),
        RunTransition("lever", 1, 0.0, 1.0, "on"),
        RunTransition("lever", 1, 1.0, 0.0, "off"),
        RunTransition("the lamp", 2, 0.0, 1.0, "lit"),
        RunTransition("the lamp", 2, 1.0, 0.0, "dark"),
        RunTransition("floor", 0, 0.0, 2.0, "lost", error="the ball is lost"),
    )
    made = program(
        lambda t, x, p, m: [x[1], -p[0] - 0.1 * x[2], 0.0 * t],
        (N, 3, 3),
        guards=lambda t, x, p, m: [
            -x[0],
            -1.0 - x[0] * x[0],
            x[0] - LOW,
            s.where(s.less(m[2], 0.5), HIGH - x[0], -1.0),
            m[1] - 0.5,
            0.5 - m[1],
            x[0] - 1e3,
        ],
        powers=lambda t, x, p, m: [x[1] * p[0]],
        roles=("injected",),
        resets=[
            lambda t, x, p, m: [x[0], -p[1] * x[1], x[2]],
            lambda t, x, p, m: [0.0, 0.0 * x[1], x[2]],
            lambda t, x, p, m: [p[2] * x[1] * x[1]],  # energy that the impact supplies
            lambda t, x, p, m: [
                -x[1],
                0.0,
                -p[2] * x[1],
                0.0,
                0.0,
                0.0,
                0.0,
                *x,
            ],  # changes of the guards by the impact; x without the impact
            lambda t, x, p, m: [x[2] ** 3 + x[2] - x[0], (x[0] - x[2] ** 3 - x[2]) / (3.0 * x[2] ** 2 + 1.0)],
        ],
        transitions=edges,
    )
    resets, (supply, push, loop) = made.resets[:2], made.resets[2:]
    loops = (NewtonLoop(("spring",), (2,), loop, 3, (1e-3,), (2.0,)),)
    return replace(made, resets=resets, supplies=(supply,), pushes=(push,), loops=loops)


@functools.cache
def event_code():
    functions = [event_iteration.open_events, event_iteration.handle_start, event_iteration.handle_event]
    return compile_procedures(cold(translate(functions, [function.__name__ for function in functions])))


def at_an_event(seed):
    random, made = np.random.default_rng(seed), hopper()
    k, p = len(made.transitions), np.array([9.81, random.choice([0.8, 0.0, 1.0]), random.choice([0.0, 1.0])])
    bound = Bound(made, p, 1.5, 10.0)
    settings = SimpleNamespace(max_events=1000, t_start=1.5, rtol=1e-6, impacts="sequential", span=10.0)
    handler = EventHandler(bound, settings)
    t, kind = random.uniform(1.0, 9.0), seed % 4
    count = int(random.integers(0, 2 * HISTORY))
    intervals = {0: 1e-3 * 0.7 ** np.arange(HISTORY), 1: np.full(HISTORY, 1e-13), 2: np.full(HISTORY, 1e-9)}
    past = t - np.cumsum(intervals.get(kind, random.uniform(0.0, 1.0, HISTORY))[::-1])[::-1]
    handler.table.arrays["times"][np.arange(count - HISTORY, count) % HISTORY], handler.table.arrays["counts"][0] = past, count
    height = random.choice([0.0, 1e-17, -1e-9, 0.0, LOW, HIGH, 0.3, 0.5 * (LOW + HIGH)])
    x = np.array([height, random.choice([-1.0, 1e-5, 0.3, 0.0]), height])
    if seed > 20:
        x = np.where(random.random(N) < 0.3, random.choice(EXTREMES, N), x)
    fired = (random.random(k) < [0.5, 0.0, 0.2, 0.2, 0.1, 0.1, 0.02]).astype(np.int64)
    handler.history.sizes[:] = np.abs(x) + random.random(N)
    rows, all_held = random.normal(size=(SAMPLES, N + 1)), np.zeros((SAMPLES + 1, 3))
    arrays = {"y": np.concatenate([x, [1.0]]), "m": np.array([0.0, *random.integers(0, 2, 2)], dtype=float)}
    handler.use_arrays({**arrays, "levels": np.zeros(2 * k), "fired": fired, "size": np.abs(x)})
    for name, array in {"rows": rows, "held": all_held[1:], "all_held": all_held}.items():
        handler.table.point(name, array)
    handler.table.arrays["log"][:] = 0.0
    numbers = {"t": t, "segment_start": 0.5 * t, "written": SAMPLES - 1, "events_left": 1000}
    for name, number in numbers.items():
        handler.table[name] = number
    return handler


def assert_same(one, other, kind):
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array.ravel(), other.arrays[name].ravel(), err_msg=name)
    for name, (_, stored) in kind.layout().items():
        assert stored == "ptr" or np.array_equal(one[name], other[name], equal_nan=True), name


def both(function, machine, seed):
    by_machine, by_python = at_an_event(seed), at_an_event(seed)
    made = machine(by_machine.table.address)
    with np.errstate(all="ignore"):
        assert function(by_python.table.view()) == bool(made)
    assert_same(by_machine.table, by_python.table, EventTable)
    return made, by_machine.table


@pytest.mark.parametrize("name", ["handle_event", "open_events", "handle_start"])
def test_texts_of_event_handling_are_the_same_bits_in_cpython(name):
    machine = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(event_code().address(name))
    seen = [both(getattr(event_iteration, name), machine, seed) for seed in range(30 if name == "handle_event" else 3)]
    if name == "handle_event":
        tables = [table for made, table in seen if made]
        assert 0 < len(tables) < len(seen)
        transitions = [tuple(table.arrays["log"][: int(table["logged"]), 3].astype(int)) for table in tables]
        assert any(table.arrays["rested"].any() for table in tables) and len(set(transitions)) > 4, transitions


def test_the_guards_that_fire_are_those_of_the_witness():
    random, found = np.random.default_rng(8), set()
    made = hopper()
    for k in range(100):
        if k % 25 == 0:
            last = ("lit", "off", "impact", "none")[k // 25]
            edges = tuple(replace(edge, last=edge.kind == last) for edge in made.transitions)
            bound = Bound(replace(made, transitions=edges), np.array([9.81, 0.8, 0.0]), 1.5, 10.0)
            settings = SimpleNamespace(max_events=1000, t_start=1.5, rtol=1e-6, impacts="sequential", span=10.0)
            handler, history = EventHandler(bound, settings), FiringGuards(bound, 10.0)
        t, near = random.uniform(0.0, 9.0), random.choice([0.0, LOW, HIGH])
        x = np.array([near + random.choice([-1.0, 0.0, 1.0]) * random.choice([0.0, 1e-17, 1e-15, 1e-12, 1e-3]), 0.0, 0.1])
        x[1], m = random.choice([-1.0, -1e-5, 0.0, 1e-7, 0.3]), np.array([0.0, *random.integers(0, 2, 2)], dtype=float)
        handler.history.sizes[:] = history.sizes[:] = np.abs(x) + random.random(N)
        handler.table.arrays["x_here"][:], handler.table.arrays["m_here"][:] = x, m
        with np.errstate(all="ignore"):
            event_guards.firing_guards(handler.table.view(), np.float64(t), handler.table.arrays["x_here"], np.float64(1e-8))
            expected = history.firing_guards(t, x, m, 1e-8)
        np.testing.assert_array_equal(handler.table.arrays["rising"] == 1, expected, err_msg=f"{t} {x} {m}")
        found.add(tuple(expected))
    assert len(found) > 8


def test_times_are_remembered_in_a_ring():
    handler = at_an_event(0)
    table, arrays = handler.table.view(), handler.table.arrays
    times, recorded = np.cumsum(1e9 * (1.0 + np.arange(2 * HISTORY + 57) % 7)), arrays["times"].reshape(-1, HISTORY)
    for k, time in enumerate(times):
        assert event_accumulation.add_event(table, time, 1) == 0
        count = int(arrays["counts"][1])
        assert count % HISTORY == (k + 1) % HISTORY and min(count, HISTORY) == min(k + 1, HISTORY)
    assert sorted(recorded[1]) == times[-HISTORY:].tolist() and handler.last_times(1).tolist() == times[-50:].tolist()
    assert event_accumulation.limit_of(table, 1) == times[-1] and not arrays["counts"][1]


# Location of zero crossings: cubic guards of the fraction of the step, and one guard that jumps.

GUARDS = 4


class Flight(StepTable):
    """Step whose guards are cubics with coefficients (guards, 4)."""

    coefficients: Reals


def exact(c: Flight, theta: float, out: Reals, method: Fixed) -> None:
    out[0] = theta


def cubic(c: Flight, theta: float, h: float, out: Reals, method: Fixed) -> None:
    out[0] = theta + 1e-6 * theta * (1.0 - theta)


def guard_values(c: Flight, t: float, y: Reals, g: Reals) -> None:
    for i in range(c.guard_count):
        k = c.coefficients[4 * i :]
        g[i] = k[0] + y[0] * (k[1] + y[0] * (k[2] + y[0] * k[3]))
        if i == c.guard_count - 1:
            g[i] = 1.0 if g[i] > 0.0 else -1.0


STEP = DenseOutput(exact, cubic, guard_values, None)


@functools.cache
def location_code():
    located = [functools.partial(getattr(root_finding, name), step=STEP) for name in ("crossing_check", "locate")]
    return compile_procedures(cold(translate(located, ("crossing_check", "locate"), tables={StepTable: Flight})))


def crossing(t, roots, heights):
    table = FieldTable(Flight)
    table.allocate(guard_count=GUARDS, width=1)
    table.point("coefficients", np.array([h * np.poly(r)[::-1] for r, h in zip(roots, heights, strict=True)]))
    table["guard_count"], table["t"], table.arrays["y_new"][0] = GUARDS, t, 1.0
    guard_values(table.view(), t, np.zeros(1), table.arrays["g"])
    return table


@pytest.mark.parametrize("name", ["crossing_check", "locate"])
def test_texts_of_event_location_are_the_same_bits_in_cpython(name):
    text, results, random = getattr(root_finding, name), [], np.random.default_rng(5)
    result, arguments = (ctypes.c_double, 1) if name == "locate" else (ctypes.c_int64, 2)
    signature = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *[ctypes.c_double] * arguments)
    machine = signature(location_code().address(name))
    for k in range(60):
        roots = random.uniform(-0.5, 1.5, (GUARDS, 3))
        roots[:, 1] = roots[:, 0] + random.choice([1e-9, 1e-3, 0.1], GUARDS)  # a narrow crest between two roots
        heights = random.choice([-1.0, 1.0], GUARDS)
        if k > 40:
            heights = np.where(random.random(GUARDS) < 0.5, random.choice(EXTREMES, GUARDS), heights)
        h, t = (
            (random.choice(EXTREMES), random.choice(EXTREMES))
            if k > 50
            else (random.uniform(1e-9, 2.0), random.uniform(0.0, 9.0))
        )
        with np.errstate(all="ignore"):
            by_machine, by_python = crossing(t, roots, heights), crossing(t, roots, heights)
            ends = [h, t + h][:arguments]
            made = machine(by_machine.address, *ends)
            said = text(by_python.view(), *map(np.float64, ends), STEP)
        assert np.array_equal(float(said), made, equal_nan=True)
        assert_same(by_machine, by_python, Flight)
        results.append((made, by_machine["jumps"], tuple(by_machine.arrays["fired"])))
    assert len({fired for _, _, fired in results}) > 2 * (name == "locate") and len({made for made, _, _ in results}) > 1
    assert {jumps for _, jumps, _ in results} == ({0, 1} if name == "locate" else {0})


@pytest.mark.parametrize("t", [0.0, 3.0])
def test_no_zero_crossing_lies_nearer_to_the_start_than_the_resolution_of_time(t):
    """A guard that starts just below zero, as after an event, crosses zero because of an error in the dense output."""
    h, later = 0.01, [0.5, 0.7, 0.9]
    table = crossing(t, [[1e-265, 0.3, 2.0], *[later] * (GUARDS - 1)], [1.0, *[-1.0] * (GUARDS - 1)])
    theta = root_finding.locate(table.view(), np.float64(h), STEP)
    assert theta == root_finding.EPSILON * max(t, h) / h and t + theta * h > t
    assert table.arrays["fired"].tolist() == [1, 0, 0, 0]
