"""Error control in machine code agrees with its Python reference bit for bit."""

from __future__ import annotations

import ctypes
import signal

import numpy as np
import pytest

from benchmarks.events import row
from bondgraph import compile_model
from screws import scalars as s
from tests.inner.emit import Procedure, address_of, compile_procedures, integer
from tests.inner.run import FOUR, PATTERNS, Bound, ErrorWeights, JacobianCouplings, StructureCache, error_weights, simulate
from tests.inner.run import accuracy_balancing as balancing
from tests.run.problems import bumper, oscillator, program, top
from tests.witnesses import balancing as reference
from tests.witnesses.error_weights import Weights

ARRAYS = ("size", "floor", "noise", "speed", "scale")
NUMBERS = ("energy", "spread", "rejections_before_test", "boost", "boosted")


def loud():
    """Return a program of x'' = -x with force and power as small differences of large numbers; a third state follows x."""
    return program(
        lambda t, x, p, m: [x[1], (p[0] - x[0]) - p[0], 1e-3 * (x[0] - x[2])],
        (3, 1, 0),
        powers=lambda t, x, p, m: [(p[0] + x[1] * x[1]) - p[0], s.sin(t) * x[0]],
        roles=("dissipated", "supplied"),
        energies=lambda t, x, p, m: [0.5 * x[0] * x[0], 0.5 * x[1] * x[1]],
    )


def still():
    """Return a program of an oscillator that only the rounding error of its force moves, an angle that it drives, and a decay."""
    return program(
        lambda t, x, p, m: [x[1], (p[0] - x[0]) - p[0], x[1], -x[3]],
        (4, 1, 0),
        energies=lambda t, x, p, m: [0.5 * x[0] * x[0], 0.5 * x[1] * x[1], 0.5 * x[3] * x[3]],
    )


def broken():
    return program(
        lambda t, x, p, m: [s.log(x[1]) - x[0], p[0] / x[0], s.sin(1e3 * t) * x[1]],
        (3, 1, 0),
        powers=lambda t, x, p, m: [s.log(x[0])],
        roles=("dissipated",),
        energies=lambda t, x, p, m: [s.sqrt(x[0]), 0.5 * x[1] * x[1]],
    )


def jumping():
    return program(
        lambda t, x, p, m: [x[1] - s.sign(x[0]), (p[0] - x[0]) - p[0], s.floor(3.0 * t) + s.absolute(x[1])],
        (3, 1, 0),
        powers=lambda t, x, p, m: [s.sign(x[0]) * x[1], s.absolute(x[2])],
        roles=("dissipated", "supplied"),
        energies=lambda t, x, p, m: [s.absolute(x[0]), 0.5 * x[1] * x[1]],
    )


PROGRAMS = {
    "oscillator": (oscillator, [577.0**2, 80.0]),
    "top": (top, [1.0, 2.0, 3.0]),
    "bumper": (bumper, [1e4, 3.0]),
    "loud": (loud, [1e5]),
    "still": (still, [1e5]),
    "broken": (broken, [2.0]),
    "jumping": (jumping, [1e3]),
}


def assert_same(witness: Weights, machine: ErrorWeights) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(witness, name), getattr(machine, name), err_msg=name)
    np.testing.assert_array_equal(witness.squares, machine.table.arrays["squares"])
    assert [getattr(witness, name) for name in NUMBERS] == [machine.table[name] for name in NUMBERS]


@pytest.mark.parametrize("atol", [None, 1e-6])
@pytest.mark.parametrize("name", PROGRAMS)
def test_weights_are_the_same_bits_wherever_a_run_goes(name, atol):
    make, p = PROGRAMS[name]
    made = make()
    bound, random = Bound(made, np.array(p), 3.0, 1.0), np.random.default_rng(4)
    absolute = None if atol is None else np.full(made.states, atol)
    pair = [kind(bound, 1e-7, absolute, 0.01) for kind in (Weights, ErrorWeights)]
    x, noisy = np.zeros(made.states), 0
    for k in range(12):
        t, m, q = 0.1 * k, random.integers(0, 2, made.modes).astype(float), random.normal(size=bound.program.quadratures)
        h, relative = 10.0 ** random.uniform(-6.0, -2.0), 10.0 ** random.uniform(-16.0, -9.0)
        steps = [("begin", (t, x, q, m)), ("refresh", (t, x, m))]
        steps += [("test_noise", (t, x, m, h, relative, implicit)) for implicit in (False, True)]
        for step, given in [*steps, ("decay", (t, x, m, 1e-3 * h, relative))]:
            for own in pair:
                getattr(own, step)(*given)
            assert_same(*pair)
            noisy += int(pair[0].noise.any())
        x = np.where(random.random(made.states) < 0.3, 0.0, random.normal(size=made.states) * 10.0 ** random.uniform(-18, 1))
    assert noisy > 0 or name not in ("loud", "still"), "no noise was found to compare"


@pytest.mark.parametrize("energy, resting", [(1.0, [False] * 4), (1e26, [False, True, True, True]), (1e30, [True] * 4)])
def test_states_rest_where_their_energy_is_rounding(energy, resting):
    made, (t, x, m) = still(), (0.3, np.array([30.0, 2.0, 3.0, 4.0]), np.zeros(0))
    bound = Bound(made, np.array([1e5]), 3.0, 1.0)
    pair = [kind(bound, 1e-7, None, 0.01) for kind in (Weights, ErrorWeights)]
    for weights in pair:
        weights.begin(t, x, np.zeros(0), m)
    pair[0].energy = pair[1].table["energy"] = energy
    for weights in pair:
        assert [weights.at_rest(state, t, x, m) for state in range(4)] == resting


def test_of_many_modes_the_earliest_are_forgotten():
    made = program(lambda t, x, p, m: [s.cos(t) - x[0] * (1.0 + m[0])], (1, 0, 1))
    bound = Bound(made, np.zeros(0))
    pair = [kind(bound, 1e-7, None, 0.01) for kind in (Weights, ErrorWeights)]
    for mode in [*range(error_weights.MODE_SETS + 9), *range(error_weights.MODE_SETS, -1, -1), 3, 3, 2]:
        for own in pair:
            own.begin(0.01 * mode, np.ones(1), np.zeros(0), np.array([float(mode)]))
        assert_same(*pair)


def machine(name: str, couplings: JacobianCouplings, *arrays: np.ndarray) -> None:
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (2 + len(arrays)))(error_weights.machine_code().address(name))
    function(couplings.structure.table.address, address_of(couplings.values), *map(address_of, arrays))


def fastest(couplings: JacobianCouplings) -> np.ndarray:
    rates, work = couplings.diagonal.copy(), np.empty(3 * len(couplings.diagonal) + 1)
    machine("fastest", couplings, rates, work)
    return rates


def carried(couplings: JacobianCouplings, speed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    reached, work = scales.copy(), np.empty(len(scales) + len(couplings.values))
    machine("propagate", couplings, speed, reached, work)
    return reached


def coupled(matrix):
    columns, rows = np.nonzero(matrix.T)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(matrix, axis=0))])
    return StructureCache(indptr, rows).couplings(matrix[rows, columns])


@pytest.mark.parametrize("density", [0.03, 0.1, 0.3, 0.9])
def test_machine_code_balances_as_its_reference_does_to_the_last_bit(density):
    random = np.random.default_rng(0)
    for _ in range(25):
        n = int(random.integers(1, 30))
        made = coupled((random.random((n, n)) < density) * 10.0 ** random.uniform(-8.0, 8.0, (n, n)))
        speed = reference.fastest(made)
        assert np.array_equal(fastest(made), speed)
        floor, start = np.maximum(speed, 1e-3), np.where(random.random(n) < 0.3, random.random(n), 0.0)
        assert np.array_equal(carried(made, floor, start), reference.propagated(made, floor, start))


@pytest.fixture(scope="module")
def by_fours():
    return compile_procedures(balancing.procedures(FOUR))


@pytest.mark.parametrize("size", [1.0, 8.0, 150.0])
def test_four_runs_are_balanced_to_the_bits_of_one(by_fours, size):
    random = np.random.default_rng(2)

    def call(name, made, *arrays):
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (2 + len(arrays)))(by_fours.address(name))
        values = np.array([own.values for own in made]).T.copy()
        function(made[0].structure.table.address, address_of(values), *map(address_of, arrays))

    for _ in range(25):
        n = int(random.integers(1, 30))
        found, even = random.random((n, n)) < random.choice([0.1, 0.3, 0.9]), random.random(FOUR) < 0.4
        spread = [(0.0 if own else size) * random.uniform(-1.0, 1.0, (n, n)) for own in even]
        made = [coupled(found * 10.0**powers) for powers in spread]
        alike = all(np.array_equal(own.structure.rows, made[0].structure.rows) for own in made)
        made = made if alike else [made[0]] * FOUR
        with np.errstate(all="ignore"):
            speeds = np.array([reference.fastest(own) for own in made])
            rates, work = np.array([own.diagonal for own in made]).T.copy(), np.empty((4 * n + 1 + len(made[0].values)) * FOUR)
            call("fastest", made, rates, work)
            assert np.array_equal(rates.T, speeds)
            floors, starts = np.maximum(speeds, 1e-3), np.where(random.random((FOUR, n)) < 0.3, random.random((FOUR, n)), 0.0)
            reached, speed = starts.T.copy(), floors.T.copy()
            call("propagate", made, speed, reached, work)
            alone = [reference.propagated(*given) for given in zip(made, floors, starts, strict=True)]
        assert np.array_equal(reached.T, alone)


def test_couplings_out_of_all_proportion_are_the_same_bits():
    random = np.random.default_rng(1)
    for largest in (90.0, 190.0, 307.0):
        for _ in range(20):
            n = int(random.integers(2, 20))
            made = coupled((random.random((n, n)) < 0.4) * 10.0 ** random.uniform(-largest, largest, (n, n)))
            with np.errstate(all="ignore"):
                assert np.array_equal(fastest(made), reference.fastest(made))


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_a_signal_before_an_answer_to_machine_code_is_heard_after_it(error):
    def raised(*_):
        raise error("struck")

    write = Procedure("strike", {"by": "ptr", "look_up_pattern": "ptr"}, "ptr")
    write.call(write["by"], [integer(signal.SIGINT)], "i64")
    write.return_value(write.call(write["look_up_pattern"], [integer(0)], "ptr"))
    program = oscillator()
    weights = ErrorWeights(Bound(program, np.array([100.0, 1.0]), 0.0, 1.0), 1e-6, None, 1.0)
    weights.table["oldest"], library = 1, compile_procedures([write])
    address, given = ctypes.c_void_p, list[int]()
    strike = ctypes.CFUNCTYPE(address, address, address)(library.address("strike"))
    before = signal.signal(signal.SIGINT, raised)
    try:
        for _ in range(2):
            given.append(strike(ctypes.cast(ctypes.CDLL(None)["raise"], address), weights.table["look_up_pattern"]))
            with pytest.raises(error, match="struck"):
                weights.check()
            weights.check()
            assert given[-1] == weights._patterns[0].address
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("times", [1, 10, 10**9])
def test_exceptions_in_callbacks_are_raised_by_the_run(error, times, monkeypatch):
    given, calls = (np.array([1.0, 0.0]), np.array([100.0, 1.0]), [], 1.0), list[int]()
    expected = simulate(oscillator(), *given).x
    structure = StructureCache.structure

    def interrupted(own, found, *way):
        if found.any() or calls:
            calls.append(len(found))
            if len(calls) <= times:
                raise error
        return structure(own, found, *way)

    monkeypatch.setattr(StructureCache, "structure", interrupted)
    with pytest.raises(error):
        simulate(oscillator(), *given)
    monkeypatch.undo()
    np.testing.assert_array_equal(simulate(oscillator(), *given).x, expected)


def test_a_run_that_meets_many_patterns_asks_python_for_few(monkeypatch):
    compiled, asked, found = compile_model(row(20)), [], StructureCache.structure
    monkeypatch.setattr(StructureCache, "structure", lambda cache, entries: asked.append(1) or found(cache, entries))
    first = compiled.simulate(2.0, samples=0.1, progress=False)
    assert first.ok and first.statistics.events_in_python == 0 and len(first.events) > 50
    assert PATTERNS < len(asked) <= 2 * PATTERNS
    again = compiled.simulate(2.0, samples=0.1, progress=False)  # reuses the first run's storage of patterns, without Python
    assert np.array_equal(first.x, again.x) and first.events == again.events
