"""Units of the papers' models are complete and match the domains, and every formula is homogeneous."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from bondgraph import Compiled
from tests.export.documented import MODELS, compiled, page
from tests.inner.assembly import Statement
from tests.inner.model import SOUGHT, TIME_DERIVATIVE

PAPERS = [name for name in MODELS if re.match("rolling|two bodies|two arms|hand|delta|soft|bouncing", name)]

BASE: dict[str, tuple[int, int, int]] = {
    "1": (0, 0, 0),
    "rad": (0, 0, 0),
    "m": (1, 0, 0),
    "kg": (0, 1, 0),
    "s": (0, 0, 1),
    "N": (1, 1, -2),
    "J": (2, 1, -2),
    "W": (2, 1, -3),
}
"""Powers of m, kg and s."""

OTHER_UNITS = (2.0, 8.0, 0.5)
"""Sizes of other units of length, mass and time, powers of two to avoid rounding."""


def dimension(unit: str) -> tuple[int, ...]:
    """Return the powers of m, kg and s of a unit, read without the package's parser."""
    found = np.zeros(3, dtype=int)
    for sign, side in zip((1, -1), (*unit.split("/"), ""), strict=False):
        for factor in side.strip("()").split():
            symbol, _, power = factor.partition("^")
            found += sign * int(power or 1) * np.array(BASE[symbol])
    return tuple(map(int, found))


def factor(unit: str) -> float:
    return float(np.prod(np.array(OTHER_UNITS) ** -np.array(dimension(unit), dtype=float)))


def factors(unit: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the factor of each component, or None if the unit does not determine it."""
    if not unit:
        return None
    if unit.endswith(" ..."):  # coefficients of powers of time, along the second axis
        first, second = (factor(each) for each in unit.removesuffix(" ...").split(", "))
        powers = (second / first) ** np.arange(shape[1])
        return np.broadcast_to((first * powers).reshape(1, -1, *(1,) * (len(shape) - 2)), shape)
    table = [[factor(each) for each in row.split(", ")] for row in unit.split("; ")]
    if len(table) == 1 and len(table[0]) == 1:
        return np.full(shape, table[0][0])
    if unit in ("1, m", "1/s, m/s") and shape in ((7,), (4, 4)):  # a pose
        turning, place = table[0]
        if shape == (7,):
            return np.array([turning] * 4 + [place] * 3)
        return np.where((np.arange(4) == 3) & (np.arange(4) < 3)[:, None], place, turning)
    if len(shape) == 1 and len(table) == 1 and shape[0] % len(table[0]) == 0:
        return np.repeat(table[0], shape[0] // len(table[0]))
    if len(shape) == 2 and shape[0] % len(table) == 0 and shape[1] % len(table[0]) == 0:
        return np.kron(table, np.ones((shape[0] // len(table), shape[1] // len(table[0]))))
    return None


@pytest.mark.parametrize("name", PAPERS)
def test_every_unit_is_given_and_every_letter_has_one_meaning(name: str) -> None:
    text = page(name)
    assert "| not given |" not in text
    assert not re.search(r"_\{[^}]*\(\d\)", text), "two values of one part have the same letter"


@pytest.mark.parametrize("name", PAPERS)
def test_effort_times_flow_is_power(name: str) -> None:
    for bond in compiled(name).model.bonds:
        d = bond.domain
        for effort, flow, displacement, momentum in zip(
            *(u.split(", ") for u in (d.effort_unit, d.flow_unit, d.displacement_unit, d.momentum_unit)), strict=True
        ):
            power = np.add(dimension(effort), dimension(flow))
            assert tuple(power) == dimension("W")
            assert dimension(f"{displacement}/s") == dimension(flow)
            assert tuple(np.subtract(dimension(momentum), dimension("s"))) == dimension(effort)


@pytest.mark.parametrize("name", PAPERS)
def test_a_rate_is_its_state_per_second(name: str) -> None:
    system = compiled(name).system
    for state in system.states:
        if not np.size(state.initial):
            continue
        own, rate = system.values[state.name].unit, system.values[state.rate].unit
        for one, other in zip(own.split(", "), rate.split(", "), strict=True):
            assert tuple(np.subtract(dimension(one), dimension("s"))) == dimension(other), (state.name, own, rate)


CHAIN = re.compile(r"(finger \d|left|right)\.(mechanism|stops|tip\.J|tip\.pose)")


def scaled(model: Compiled, values: dict[str, Any], name: str) -> Any:
    if name.endswith(".mode"):
        return values[name]
    given = np.asarray(values[name], dtype=float)
    found = factors(model.system.values[name].unit, given.shape)
    return None if found is None else (given * found)[()]


def homogeneous(model: Compiled, values: dict[str, Any], statement: Statement) -> bool | None:
    given = [scaled(model, values, name) for name in statement.args]
    outs = [scaled(model, values, name) for name in statement.outs]
    if any(each is None for each in (*given, *outs)) or CHAIN.fullmatch(statement.element):
        return None
    found = statement.op(*given)
    several = found if isinstance(found, tuple) else (found,)
    return all(
        np.allclose(np.asarray(one, dtype=float), other, rtol=1e-9, atol=1e-12 * np.max(np.abs(other), initial=0.0))
        for one, other in zip(several, outs, strict=True)
    )


@pytest.mark.parametrize("name", PAPERS)
def test_every_formula_is_homogeneous(name: str) -> None:
    model = compiled(name)
    x, m = model.initial()
    x = x + 1e-3 * np.random.default_rng(3).normal(size=x.shape)
    for state in model.system.states:
        if np.shape(state.initial) == (7,):  # the law that normalises a quaternion has its own time constant
            quaternion = x[model.system.places[state.name].start :][:4]
            quaternion /= np.linalg.norm(quaternion)
    values = model.evaluate(0.3, x, None, m)
    said = {
        (statement.element, statement.op.name, statement.outs): homogeneous(model, values, statement)
        for statement in model.system.statements
        if statement.op not in (TIME_DERIVATIVE, SOUGHT)
    }
    wrong = [key for key, fits in said.items() if fits is False]
    assert not wrong
    named = {key: fits for key, fits in said.items() if not any(":" in out for out in key[2]) and not CHAIN.fullmatch(key[0])}
    assert sum(fits is not None for fits in named.values()) > 0.9 * len(named), [key for key in named if named[key] is None]
