"""Calculations with units agree with hand calculations."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, MTF, C, Graph, I, R, Se, assign_causality
from bondgraph.units import unknown_unit
from tests.inner.compile import equations
from tests.inner.model import ROTATION, SCREW, TRANSLATION, matrix, motions, per_second, quotient


@pytest.mark.parametrize(
    ("above", "below", "found"),
    [
        ("N", "m/s", "N s/m"),
        ("N m, N", "rad, m", "N m/rad, N/m"),
        ("V", "A", "V/A"),
        ("m", "m", "1"),
        ("1/s^2", "m m", "1/(s^2 m^2)"),
        ("m", "1/s", "m s"),
        ("rad/s, m/s, m/s", "rad, m, m", "1/s"),
        ("rad, m, m", "s", "rad/s, m/s, m/s"),
        ("m**2", "m^(1/2)", "m^(3/2)"),
        ("", "m", ""),
        ("m", "", ""),
        ("m, s", "m, s, kg", ""),
        ("m, m/s ...", "s", ""),
    ],
)
def test_quotients(above: str, below: str, found: str) -> None:
    assert quotient(above, below) == found


@pytest.mark.parametrize("unit", ["m^99999999", "(((km^99)^99)^99)^99", "m^(1/0)", "m^0", "m" * 201, "(" * 300 + "m" + ")" * 300])
def test_units_that_would_take_for_ever_are_unreadable(unit: str) -> None:
    assert unknown_unit(unit) is not None
    assert unknown_unit("m^10/(kg^2 s^(1/2))") is None


@pytest.mark.parametrize(("order", "found"), [(0, "m"), (1, "m/s"), (2, "m/s^2"), (-1, "m s"), (-2, "m s^2")])
def test_derivatives_and_integrals(order: int, found: str) -> None:
    assert per_second("m", order) == found
    assert per_second(per_second("rad, m", order), -order) == "rad, m"


def test_matrices() -> None:
    """Rows and columns are printed in the fewest blocks of equal length."""
    assert matrix("m/s", "rad/s, m/s") == "m/rad, 1"
    assert matrix("N m, N", "rad/s, m/s") == "N m s/rad, N s; N s/rad, N s/m"
    assert matrix("rad/s, rad/s, m/s, m/s", "rad/s") == "1; m/rad"
    assert matrix("rad/s, m/s, m/s", "rad/s") == "1; m/rad; m/rad"
    assert matrix("V", "V") == "1"
    assert matrix("", "V") == matrix("V", "") == ""


def test_zeros_need_no_unit() -> None:
    assert matrix("rad/s, m/s, m/s, m/s", "rad/s, m/s", np.eye(6)[2:]) == "1"
    assert matrix("m/s", "rad/s, m/s", np.ones(6)) == "m/rad, 1"


def test_motions() -> None:
    assert motions([True]) is ROTATION and motions([False] * 3) is TRANSLATION and motions([True] * 3 + [False] * 3) is SCREW
    mixed = motions([False, True])
    assert (mixed.effort_unit, mixed.flow_unit, mixed.dimension) == ("N, N m", "m/s, rad/s", 2)
    for unit in (mixed.effort_unit, mixed.flow_unit, mixed.displacement_unit, mixed.momentum_unit):
        assert unknown_unit(unit) is None


def test_the_domain_of_a_port_implies_units() -> None:
    graph, v, w = Graph("units"), J1("v", domain=TRANSLATION), J1("w", domain=ROTATION)
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", 2.0)).connect(v, C("spring", stiffness=3.0)).connect(v, R("drag", 0.1))
    own = R("own", effort=lambda f, k: k * f**3, parameters={"k": 1.0})
    rack = MTF("rack", lambda q: 0.1 + 0.0 * q, signals=["spring.q"], dimensions=(1, 1))
    graph.connect(v, rack).connect(rack, w).connect(w, R("bearing", conductance=2.0)).connect(w, own)
    model = graph.freeze()
    units = {name: value.unit for name, value in equations(model, assign_causality(model)).values.items()}
    assert units["push.value"] == "N" and units["mass.inertia"] == "kg" and units["spring.stiffness"] == "N/m"
    assert units["drag.resistance"] == "N s/m" and units["bearing.conductance"] == "rad/(s N m)" and units["own.k"] == ""
    assert units["rack.N"] == "rad/m" and units["mass.p"] == "N s"
