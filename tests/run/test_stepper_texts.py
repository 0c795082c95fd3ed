"""CPython and machine code run the integration loop from one source, with the same bits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bondgraph.methods import METHODS
from campaigns.saved import unequal
from tests.compilers import COMPILERS, by_compiler, needed
from tests.inner.emit import compile_procedures, types_of
from tests.inner.run import (
    FieldTable,
    dop853,
    driver,
    explicit,
    initial_step,
    lane_loop,
    prepare,
    radau5,
    rodas5p,
    simulate,
    step_control,
    workspace,
)
from tests.run.bogacki_shampine import BS32, TABLEAU
from tests.run.problems import ball, oscillator, program
from tests.run.test_side_by_side import assert_same

ENTRIES = [METHODS["dop853"], METHODS["dopri5"], BS32]


def in_cpython(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    statuses: list[int] = []
    prepared_with = workspace.Workspace.__init__

    def __init__(self: workspace.Workspace, *arguments: object) -> None:
        prepared_with(self, *arguments)
        method, bound = self.integrator.method, self.bound
        table = self.table.view()

        def begin(_: int, *given: int) -> int:
            *addresses, samples = given
            lengths = (bound.program.states, bound.program.modes, samples, samples * self._width)
            arrays = [numbers_at(*pair) for pair in zip(addresses, lengths, strict=True)]
            return int(initial_step.begin_run(table, *arrays, samples))

        def advance(_: int) -> int:
            with np.errstate(all="ignore"):
                statuses.append(int(driver.advance_run(table, method)))
            return statuses[-1]

        self._begin, self._advance = begin, advance

    monkeypatch.setattr(workspace.Workspace, "__init__", __init__)
    return statuses


def numbers_at(address: int, count: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_double * count).from_address(address)) if count else np.zeros(0)


def ticking():
    tick = (0.07, 0.02, lambda t, x, p, m: [x[0], x[1] + 0.1 * x[0]])
    return program(
        lambda t, x, p, m: [x[1] - p[0] * x[0] * x[0] * x[0], -3.0 * x[0]],
        (2, 1, 0),
        ticks=[tick],
        powers=lambda t, x, p, m: [x[0] * x[1]],
        roles=("dissipated",),
    )


def noisy():
    return program(lambda t, x, p, m: [x[0] * 1e9 - x[0] * 1e9 - 1.0], (1, 0, 0))


def growing():
    return program(lambda t, x, p, m: [x[0] * x[0]], (1, 0, 0))


def van_der_pol():
    rates = lambda t, x, p, m: [x[1], p[0] * (1.0 - x[0] * x[0]) * x[1] - p[1] * x[0]]  # noqa: E731
    return program(rates, (2, 2, 0), powers=lambda t, x, p, m: [x[0] * x[1]], roles=("dissipated",))


COURSES: dict[str, Callable[..., object]] = {
    "ticks": lambda **options: simulate(ticking(), [1.0, 0.0], [0.5], [], 0.2, rtol=1e-4, **options),
    "powers": lambda **options: simulate(oscillator(fused=True), [1.0, 0.0], [9.0, 0.1], [], 0.5, rtol=1e-5, **options),
    "noise": lambda **options: simulate(noisy(), [1.0], [], [], 0.1, rtol=1e-9, **options),
    "blow up": lambda **options: simulate(growing(), [1.0], [], [], 2.0, rtol=1e-3, max_steps=150, **options),
}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
@pytest.mark.parametrize("name", COURSES)
@pytest.mark.filterwarnings("ignore::bondgraph.errors.RunEndedWarning")
def test_cpython_takes_the_steps_of_machine_code(name: str, entry, monkeypatch: pytest.MonkeyPatch) -> None:
    native = COURSES[name](samples=0.03, method=entry, progress=False)
    statuses = in_cpython(monkeypatch)
    text = COURSES[name](samples=0.03, method=entry, progress=False)
    for one, other in zip((native.t, native.x, native.integrals), (text.t, text.x, text.integrals), strict=True):
        np.testing.assert_array_equal(one, other)
    costs = [replace(run.statistics, wall_time=0.0, integration_time=0.0) for run in (native, text)]
    assert statuses and costs[0] == costs[1] and str(native.failure) == str(text.failure)


EXTREME = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e300, -1e300, 1.0)


def random_table(method, random: np.random.Generator) -> FieldTable:
    table = FieldTable(method.table)
    for name, (_, kind) in method.table.layout().items():
        if kind == "double":
            table[name] = random.choice(EXTREME) if random.random() < 0.2 else 10.0 ** random.uniform(-9.0, 3.0)
        elif kind == "i64":
            is_flag = types_of(method.table)[name] is bool
            table[name] = random.integers(0, 2) if is_flag else random.choice([0, 1, random.integers(0, 40)])
    table["clock_count"] = table["n"] = 0  # ticks and rates need arrays
    return table


METHODS_IN_MACHINE_CODE = [
    (explicit.method_of(dop853.TABLEAU), dop853.machine_code),
    (rodas5p.RODAS5P, rodas5p.machine_code),
    (radau5.RADAU5, radau5.machine_code),
]
CONTROL = {"propose_step": "", "accept_or_reject": "d", "after_acceptance": "di", "limited_by_stability": "ddd"}
"""Functions that touch no array, with the kinds of the arguments after the table."""


@pytest.mark.parametrize(("method", "machine_code"), METHODS_IN_MACHINE_CODE, ids=["explicit", "rodas5p", "radau5"])
def test_step_control_is_that_of_machine_code_for_any_numbers(method, machine_code) -> None:
    random, kinds = np.random.default_rng(8), {"d": ctypes.c_double, "i": ctypes.c_int64}
    functions = [*(step_control.propose_step, step_control.accept_or_reject, step_control.after_acceptance), *method.exported]
    for _ in range(300):
        for function in functions:
            table, types = random_table(method, random), [kinds[kind] for kind in CONTROL[function.__name__]]
            numbers = [10.0 ** random.uniform(-3.0, 3.0) if kind is ctypes.c_double else 1 for kind in types]
            numbers[:1] = [random.choice([*EXTREME, *numbers[:1]])] if numbers else []
            own = [] if function is step_control.propose_step else [method]
            before = table._integers.copy()
            with np.errstate(all="ignore"):
                in_cpython = function(table.view(), *map(np.float64, numbers), *own)
            found = table._integers.copy()
            table._integers[:] = before
            call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *types)(machine_code().address(function.__name__))
            assert call(table.address, *numbers) == int(in_cpython)
            np.testing.assert_array_equal(table._integers, found, err_msg=function.__name__)


def test_a_method_from_outside_has_its_bits_in_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    random, made = np.random.default_rng(4), []
    monkeypatch.setattr(lane_loop, "compile_procedures", lambda parts: made.append(len(parts)) or compile_procedures(parts))
    x, p = random.normal(size=(11, 2)), random.uniform(0.5, 9.0, (11, 2))
    prepared = prepare(van_der_pol(), 5.0, samples=0.5, method=BS32, rtol=1e-4, progress=False)
    alone = prepared.run_many(p, x, [], lanes=1, threads=1)
    assert_same(prepared.run_many(p, x, [], lanes=4, threads=1), alone)
    assert made and alone.ok.all() and alone.rejected.any() and len(set(alone.steps)) > 5


@needed
def test_a_method_from_outside_has_its_bits_in_c() -> None:
    library = by_compiler(COMPILERS[0], driver.procedures(explicit.method_of(TABLEAU)))
    in_c = replace(BS32, load=lambda: explicit.ExplicitStepper(TABLEAU, lambda: library))
    runs = [simulate(ball(), [1.0, 0.0], [9.81, 0.8], [0.0], 2.0, method=method, rtol=1e-7) for method in (BS32, in_c)]
    assert unequal(*runs) == [] and runs[0].statistics.steps > 10
