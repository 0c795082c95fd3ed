"""Units of effort and flow multiply to a power, states have consistent units, and bonds do not mix domains."""

from __future__ import annotations

import pytest

from bondgraph import DOMAINS, GY, J1, C, Domain, Graph, ModelError, R
from tests.elements.small_models import compiled, star

SI = {
    "": {},
    "V": {"W": 1, "A": -1},
    "A": {"A": 1},
    "C": {"A": 1, "s": 1},
    "Wb": {"W": 1, "A": -1, "s": 1},
    "N": {"W": 1, "s": 1, "m": -1},
    "m": {"m": 1},
    "s": {"s": 1},
    "rad": {},
    "Pa": {"W": 1, "s": 1, "m": -3},
    "K": {"K": 1},
    "J": {"W": 1, "s": 1},
    "W": {"W": 1},
    "mol": {"mol": 1},
}
"""Units as powers of W, A, m, s, K and mol."""


def powers(unit: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for sign, part in zip((1, -1), unit.split("/"), strict=False):
        for factor in part.split():
            name, _, exponent = factor.partition("^")
            for base, power in SI[name].items():
                found[base] = found.get(base, 0) + sign * power * int(exponent or 1)
    return {base: power for base, power in found.items() if power}


def together(*units: str) -> dict[str, int]:
    total = [powers(unit) for unit in units]
    found = {base: sum(part.get(base, 0) for part in total) for part in total for base in part}
    return {base: power for base, power in found.items() if power}


REAL = [domain for domain in DOMAINS.values() if domain.name not in ("generic", "screw") and not domain.pseudo]


@pytest.mark.parametrize("domain", REAL, ids=lambda d: d.name)
def test_units_of_a_domain_make_power_and_energy(domain: Domain) -> None:
    assert together(domain.effort_unit, domain.flow_unit) == powers("W")
    assert together(domain.flow_unit, "s") == powers(domain.displacement_unit)
    assert together(domain.effort_unit, "s") == powers(domain.momentum_unit)
    model = compiled(star(J1("v"), C("c", capacitance=2.0, domain=domain.name), R("r", 1.0)))
    assert model.program.layout.unit("c.q") == domain.displacement_unit
    assert model.program.layout.unit("r.effort") == domain.effort_unit


def test_a_bond_between_two_domains_is_refused_for_every_pair_of_them() -> None:
    assert {d.name for d in DOMAINS.values()} >= {
        "electrical",
        "translation",
        "rotation",
        "hydraulic",
        "thermal",
        "magnetic",
        "heat",
        "chemical",
        "screw",
    }
    for one in DOMAINS:
        for other in DOMAINS:
            if one == other:
                continue
            with pytest.raises(ModelError, match=r"E10[35] "):
                star(J1("v"), C("c", capacitance=2.0, domain=one), R("r", 1.0, domain=other)).freeze()
            if DOMAINS[one].pseudo or DOMAINS[other].pseudo:
                continue
            gyrated = Graph("gyrated").connect(C("c", capacitance=2.0, domain=one), GY("turn", 1.0, domains=(one, other)))
            if "screw" not in (one, other):
                gyrated.connect(gyrated.parts["turn"], C("d", capacitance=1.0, domain=other)).freeze()
