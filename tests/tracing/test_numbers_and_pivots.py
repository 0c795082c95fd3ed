"""Values given at compilation do not affect pivots."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, C, Diode, Graph, R, Se, compile_model
from screws.scalars import sin
from tests.inner.tape import Tape
from tests.inner.tracing import Samples

MAKE = {"R": R, "C": lambda name, value: C(name, capacitance=value), "D": lambda name, _: Diode(name)}


def circuit(parts, numbers):
    graph, values = Graph("circuit"), iter(numbers)
    parts = [(*part, None) if part[0][0] in "DV" else (*part, next(values)) for part in parts]
    nodes = {k: J0(f"n{k}", domain="electrical") for k in sorted({n for part in parts for n in part[1:3]} - {0})}
    for name, tail, head, value in parts:
        arm = J1(f"arm {name}", domain="electrical")
        graph.connect(nodes[tail], arm) if tail else None
        if name[0] == "V":
            graph.connect(arm, Se(name, lambda t: sin(1.3 * t + 0.6), signals=["time"])).connect(arm, R(f"inside {name}", 0.05))
        else:
            graph.connect(arm, MAKE[name[0]](name, value))
        graph.connect(arm, nodes[head]) if head else None
    return graph


PUMP = [("R", 3, 1), ("C1", 1, 2), ("D21", 2, 1), ("D32", 3, 2), ("D03", 0, 3), ("D02", 0, 2), ("C2", 2, 0), ("V", 3, 1)]
RING = [("C1", 1, 0), ("D12", 1, 2), ("C2", 2, 0), ("D23", 2, 3), ("C3", 3, 0), ("D31", 3, 1), ("R", 2, 0), ("V", 1, 0)]
DOUBLER = [("C1", 3, 1), ("D01", 0, 1), ("D12", 1, 2), ("C2", 2, 0), ("R", 2, 0), ("V", 3, 0)]
NAMES = {"C": "capacitance", "R": "resistance"}


def agrees(parts, ones, numbers, end=0.3):
    named = [name for name, *_ in parts if name[0] in NAMES]
    given = {f"{name}.{NAMES[name[0]]}": float(value) for name, value in zip(named, numbers, strict=True)}
    asked = {"samples": end / 3.0, "progress": False, "parameters": given}
    theirs = ones.simulate(end, **asked)
    own = compile_model(circuit(parts, numbers)).simulate(end, **asked)
    for name in named:
        if name[0] == "C":
            size = np.abs(theirs[f"{name}.q"]).max() + 1e-12
            np.testing.assert_allclose(own[f"{name}.q"], theirs[f"{name}.q"], rtol=1e-6, atol=1e-6 * size)


def of_ones(parts):
    return compile_model(circuit(parts, [1.0] * sum(name[0] in NAMES for name, *_ in parts)))


def test_numbers_whose_sums_cancel_to_rounding_choose_no_pivot():
    """Two routes compute 1 / c - 1 / c as 1e-17 or 0, depending on rounding; the 1e-17 must not become a pivot (E309)."""
    numbers = 0.05520631197642092, 0.13237220727184984, 4.068779553327908
    agrees(PUMP, of_ones(PUMP), numbers, end=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("parts", [PUMP, RING, DOUBLER], ids=["pump", "ring", "doubler"])
def test_a_circuit_of_random_numbers_is_that_of_ones_given_them(parts):
    ones, rng = of_ones(parts), np.random.default_rng(3)
    for _ in range(8):
        agrees(parts, ones, 10.0 ** rng.uniform(-2.0, 1.0, sum(name[0] in NAMES for name, *_ in parts)))


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_an_entry_that_is_only_rounding_counts_as_zero_in_any_unit(unit):
    tape, rng = Tape(), np.random.default_rng(1)
    x, y = tape.inputs("p", 2)
    samples = Samples(tape, [(np.zeros(1), np.zeros(0), unit * rng.uniform(1.0, 2.0, 2), np.zeros(0)) for _ in range(40)])
    samples._blocks = {"p": samples._blocks["p"]}
    rounding = x + y - x - y
    entries = {(0, 0): x, (0, 1): rounding, (1, 0): rounding * x / y + rounding, (1, 1): x + 1e-9 * y - x}
    values = samples(entries)
    assert np.any(samples.row([rounding])[0] != 0.0), "the rounding error must occur"
    assert not values[0, 1].any() and not values[1, 0].any()
    np.testing.assert_allclose(values[1, 1], 1e-9 * values[0, 0] * samples.row([y / x])[0], rtol=1e-5)
