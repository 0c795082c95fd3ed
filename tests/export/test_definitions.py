"""State equations of large models define long expressions on separate lines, and agree with the compiled model."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import sympy

from bondgraph import Compiled, ModelError
from bondgraph.export import StateEquations, state_equations
from tests.export.documented import compiled
from tests.export.numeric import Numbers, point_of, rates_of, start_of
from tests.inner.export import sympy_forms
from tests.inner.output import labels_of
from tests.inner.tape import opcodes

MODELS = ("rolling eggs", "hand", "delta")


@functools.cache
def written(name: str, numbers: bool = False) -> StateEquations:
    return state_equations(compiled(name), numbers=numbers)


def deviation(model: Compiled, at: Numbers, seed: int, inside: bool = False) -> float:
    x, m = start_of(model, seed)
    wanted = rates_of(model, x, m)
    found = at.found
    numbers = point_of(model, x, m) | (outside(model, found, x, m) if inside else {})
    rates = at.at(numbers, found.equations)
    size = max(abs(wanted[name]) for name in found.equations)
    return max(abs(rates[name] - wanted[name]) for name in found.equations) / size


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "numbers"), [*((name, False) for name in MODELS), ("rolling eggs", True), ("delta", True)])
def test_equations_of_the_large_models_are_the_compiled_ones(name: str, numbers: bool) -> None:
    found = written(name, numbers)
    assert found.definitions
    at = Numbers(found)
    assert max(deviation(compiled(name), at, seed) for seed in range(8 if not numbers else 3)) < 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_every_symbol_is_given_or_defined_before(name: str) -> None:
    found = written(name)
    solved = {unknown for system in found.systems for unknown in system.unknowns}
    known = {*found.states, *found.inputs, *found.parameters, *found.modes, "time", *solved}
    for symbol, expression in found.definitions.items():
        assert {s.name for s in expression.free_symbols} <= known, symbol
        known.add(symbol)
    for expression in found.equations.values():
        assert {s.name for s in expression.free_symbols} <= known
    used = {s.name for e in (*found.equations.values(), *found.definitions.values()) for s in e.free_symbols}
    used |= {s.name for system in found.systems for m in (system.A, system.b) for s in m.free_symbols}
    assert not found.definitions.keys() - used


def test_every_line_can_be_read() -> None:
    found = written("hand")
    assert max(sympy.count_ops(e) for e in found.definitions.values()) < 200
    assert len(str(found).splitlines()) == len(found.equations) + 1 + len(found.definitions)
    assert {"contact 0.stiffness.effort[0]"} <= found.definitions.keys() or any("contact 0" in name for name in found.definitions)
    assert found.latex().count("&=") == len(found.equations) + len(found.definitions)


def test_constraints_of_the_delta_robot_are_a_linear_system() -> None:
    (system,) = written("delta").systems
    assert system.A.shape == (6, 6) and len(system.unknowns) == 6
    assert all(name.startswith("closure") for name in system.unknowns)
    assert str(written("delta")).count("\n") + 1 == 18 + 1 + len(written("delta").definitions) + 6


@pytest.mark.parametrize(("whole", "part"), [("hand", "finger 0"), ("hand", "finger 0.mechanism"), ("delta", "arm 1")])
def test_equations_of_a_part_take_outside_values_as_arguments(whole: str, part: str) -> None:
    model = compiled(whole)
    found = state_equations(model, part=part)
    assert found.equations and all(name.startswith(f"{part}.") for name in found.equations)
    assert not {name for name in found.inputs if name.startswith(f"{part}.") and name in found.states}
    at = Numbers(found)
    assert max(deviation(model, at, seed, inside=True) for seed in range(3)) < 1e-12


def outside(model: Compiled, found: StateEquations, x: np.ndarray, m: np.ndarray) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, value in model.evaluate(0.3, x, None, m).items():
        numbers |= zip(labels_of(name, np.shape(value)), map(float, np.ravel(value)), strict=True)
    return {name: numbers[name] for name in found.inputs}


def test_a_part_that_is_none() -> None:
    with pytest.raises(ModelError, match='E275 "fingr 0" is not part of the model') as caught:
        state_equations(compiled("hand"), part="fingr 0")
    assert "finger 0" in str(caught.value)


def test_every_instruction_of_a_tape_has_its_expression() -> None:
    assert set(sympy_forms()) == set(range(opcodes.INPUT + 1, len(opcodes.OPERATIONS)))
