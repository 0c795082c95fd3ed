"""Functions of the kernel language give the same bits in CPython and machine code."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import fields

import numpy as np
import pytest

from tests.inner.emit import Reals, address_of, compile_procedures, translate, types_of
from tests.inner.run import (
    BatchTable,
    FieldTable,
    MatrixLayout,
    SampleCheck,
    coupling_graph,
    event_losses,
    layout_of,
    lost_loops,
    native_measures,
    rank_screen,
    system,
)
from tests.run.test_linear import called

EXTREMES = (0.0, -0.0, np.inf, np.nan, 5e-324, 1e300, 1e-200)


def bits(numbers: np.ndarray) -> bytes:
    return np.where(np.isnan(numbers), np.nan, numbers).tobytes() if numbers.dtype == float else numbers.tobytes()


def random_systems(kind: str):
    random = np.random.default_rng(7)
    for n in (1, 2, 3, 5, 9, 14):
        i, j = np.indices((n, n))
        for trial in range(4):
            width = (1, n, n // 2, 1)[trial]
            full = np.where(abs(i - j) <= width, random.normal(size=(n, n)), 0.0)
            if trial > 1:
                full = np.where(random.random((n, n)) < 0.2, random.choice(EXTREMES, (n, n)), full)
            rows, columns = np.nonzero(full)
            yield layout_of(n, rows, columns, kind), np.append(full[rows, columns], np.zeros(n * n)), random.normal(size=(2, n))


def solved(layout: MatrixLayout, entries: np.ndarray, right: np.ndarray, row_weights: np.ndarray, by_text: bool) -> list[object]:
    table = system.table_of(layout)
    s = table.view()
    if by_text:
        system.fill_system(s, entries, np.float64(0.3))
    else:
        called("fill_system", table.address, address_of(entries), 0.3)
    table.arrays["row_weights"][:], table.arrays["right"][:] = row_weights, right

    def done(step: str) -> bool:
        return bool(getattr(system, step)(s) if by_text else called(step, table.address))

    results: list[object] = [done("factor_system")]
    if not results[0]:
        results.append(done("has_negative_determinant"))
        done("solve_system")
    return [*results, *((name, bits(array)) for name, array in table.arrays.items())]


@pytest.mark.parametrize("kind", ["dense", "band", "sparse"])
def test_systems(kind):
    with np.errstate(all="ignore"):
        for layout, entries, (right, row_weights) in random_systems(kind):
            texts, machine = (solved(layout, entries, right, abs(row_weights), by_text) for by_text in (True, False))
            assert texts == machine


@pytest.mark.parametrize("density", [0.0, 0.1, 0.3, 1.0])
def test_coupling_graphs(density):
    random = np.random.default_rng(5)
    for n in (0, 1, 2, 5, 12):
        columns, rows = np.nonzero((random.random((n, n)) < density) & ~np.eye(n, dtype=bool))
        table = coupling_graph.graph_table(n, rows, columns)
        coupling_graph.search(table.view())
        by_text, machine = coupling_graph.structure_from(table), coupling_graph.structure_of(n, rows, columns)
        assert all(np.array_equal(getattr(by_text, field.name), getattr(machine, field.name)) for field in fields(machine))


def energies(t: Reals, x: Reals, p: Reals, m: Reals, out: Reals) -> None:
    out[0] = x[0] * x[0] * m[0] + t[0]
    out[1] = x[1] * p[0]


def copies(t: Reals, x: Reals, p: Reals, m: Reals, out: Reals) -> None:
    for i in range(18):
        out[i] = x[i]


BATCH_TEXTS = (
    event_losses.reset_events,
    native_measures.reset_measures,
    event_losses.finish_events,
    native_measures.store_measures,
    lost_loops.has_lost_loop,
)


@functools.cache
def batch_code():
    functions = [*BATCH_TEXTS, functools.partial(rank_screen.may_lose_rank, lanes=2), energies, copies]
    names = [getattr(function, "func", function).__name__ for function in functions]
    return compile_procedures(translate(functions, names))


def table_with(kind: type, seed: int, integers: dict[str, int], lengths: dict[str, int], flags: dict[str, list[int]]):
    random, table = np.random.default_rng(seed), FieldTable(kind)
    for name, length in lengths.items():
        numbers = random.normal(size=length)
        table.point(name, np.where(random.random(length) < 0.125, random.choice(EXTREMES, length), numbers))
    for name, values in flags.items():
        table.point(name, np.array(values, dtype=np.int64))
    for name, number in integers.items():
        table[name] = number
    return table


def batch_table(seed: int) -> FieldTable:
    integrators = types_of(BatchTable)["table"]
    handler = {"n": 2, "modes": 1, "transitions": 2, "quadratures": 1, "logged": 2, "row_width": 13, "held_rows": 1}
    events = table_with(types_of(integrators)["instants"], seed, handler, {"log": 26}, {})
    control = FieldTable(types_of(integrators)["weights"])
    control["storages"], run = 2, {"width": 3, "mode_count": 1, "n": 2}
    control.point("energies", batch_code().address("energies"))
    integrator = table_with(integrators, seed, run, {"p": 1, "m": 1}, {})
    integrator.point("instants", events)
    integrator.point("weights", control)
    samples = {"samples": 6, "requested_count": 6, "mode_stride": 1, "balances": 2, "kept_count": 14, "series_count": 1}
    counts = {**samples, "output_count": 0, "unknowns": 3, "measured": 0}
    lengths = BatchTable.lengths(**counts, states=2, storages=2, quadratures=1, longest_loop=0)
    plain = {"rows": 18, "modes": 6, "kept": 14, "starts": 14, "series": 6, "loop_near": 3}
    flags = {
        "rules": [rule for rule in range(1, 8) for _ in range(2)],
        "sources": [native_measures.ROW, native_measures.MODE] * 7,
        "places": [0, 0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 2, 2, 0],
        "counted": [1, 0, 0, 1],
        "tops": [2] * 14,
        "jumps": [0] * 6,
        "series_sources": [native_measures.ROW],
        "series_places": [1],
        "storage_balances": [0, 1],
        "power_balances": [1],
        "event_counts": [0],
        "requested_rows": [0, 1, 2, 3, 4, 5],
    }
    table = table_with(BatchTable, seed, counts, {**lengths, **plain}, flags)
    table.point("table", integrator)
    for name, first in (("times", 0.0), ("dates", 2.0)):
        table.point(name, first + np.linspace(0.0, 1.0, 6))
    log = events.arrays["log"].reshape(2, 13)
    log[:, :4] = [[0.05, 2.05, 2.05, 1.0], [0.1, 2.1, 2.1, 0.0]]
    for name, value in (("span", 1.0), ("minus_infinity", -np.inf), ("loop_limit", 0.1)):
        table[name] = value
    return table


def left(table: FieldTable, kind: type) -> list[object]:
    numbers = [bits(np.array(float(table[name]))) for name, type_ in types_of(kind).items() if type_ in (float, int, bool)]
    arrays = [(name, bits(array)) for name, array in table.arrays.items()]
    return [*numbers, *arrays, *(left(other, types_of(kind)[name]) for name, other in table.tables.items())]


@pytest.mark.parametrize("seed", range(8))
def test_measures_and_losses(seed):
    by_text, machine = batch_table(seed), batch_table(seed)
    r, code = by_text.view(), batch_code()
    with np.errstate(all="ignore"):
        for function in BATCH_TEXTS:
            runs = [] if "run" not in function.__annotations__ else [0]
            result = function(r, *runs)
            kinds = [ctypes.c_void_p, *[ctypes.c_int64] * len(runs)]
            returned = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(code.address(function.__name__))(machine.address, *runs)
            assert result is None or bool(result) == bool(returned)
            assert left(by_text, BatchTable) == left(machine, BatchTable)


@pytest.mark.parametrize("extreme", [False, True])
def test_checks_of_the_rank(extreme):
    random, results, code = np.random.default_rng(3), [], batch_code()
    counts = {"n": 3, "count": 5, "samples": 5, "stride": 1, "watched": 1, "beyond": 1, "entry_count": 9}
    lengths = SampleCheck.lengths(**counts, lanes=2, width=9, matrix_entries=9, parameters=0, modes=0, values=0)
    rows, columns = np.indices((3, 3)).reshape(2, -1)
    flags = {"rows": rows, "columns": columns, "leftmost": [0, 0, 0], "lowest": [3, 3, 3]}
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(code.address("may_lose_rank"))
    with np.errstate(all="ignore"):
        for size in np.linspace(0.0, 1.5, 12):
            samples = np.eye(3).ravel() * 2.0 + random.normal(size=(6, 9)) * size
            if extreme:
                samples[random.integers(6), random.integers(9)] = random.choice(EXTREMES)
            tables = []
            for by_text in (True, False):
                table = table_with(SampleCheck, 1, counts, lengths, flags)
                table.point("entries", table.arrays["out"])
                for name, values in (("dates", np.arange(5.0)), ("falls", np.full(6, 0.3)), ("rises", np.full(6, 0.3))):
                    table.point(name, values)
                table.point("kernel", code.address("copies"))
                run = FieldTable(types_of(BatchTable)["table"])
                run["width"] = 9
                run.point("y", samples[5].copy())
                s, c = table.view(), run.view()
                at = table.address, run.address, address_of(samples)
                results.append(rank_screen.may_lose_rank(s, c, samples.ravel(), 2) if by_text else call(*at))
                tables.append(left(table, SampleCheck))
            assert tables[0] == tables[1] and bool(results[-2]) == bool(results[-1])
    assert extreme or len(set(map(bool, results))) == 2
