"""Units of parameters: what an element says, else what its law and the domain of its port imply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from bondgraph.model.domains import GENERIC, Domain
from bondgraph.model.model import Model

UNKNOWN = "not given"
"""Of a parameter in a domain without units, or of a law of the user's own."""

_RATIOS: Mapping[str, tuple[str, str]] = {
    "stiffness": ("effort", "displacement"),
    "capacitance": ("displacement", "effort"),
    "compliance": ("displacement", "effort"),
    "inertia": ("momentum", "flow"),
    "mass": ("momentum", "flow"),
    "resistance": ("effort", "flow"),
    "damping": ("effort", "flow"),
    "conductance": ("flow", "effort"),
}
_PLAIN: Mapping[str, str] = {"alpha1": "1/s", "alpha0": "1/s^2", "restitution": "1", "breaks": "s", "period": "s", "offset": "s"}
"""Parameters that mean the same in every domain."""


def unit_of(model: Model, path: str, local: str, known: str) -> str:
    """The unit of the parameter `local` of the element at `path`, whose own word on it is `known`."""
    if known:
        return known
    if local in _PLAIN or local.endswith(" breaks"):
        return _PLAIN.get(local, "s")
    bonds = model.bonds_at(path)
    if not bonds or bonds[0].domain == GENERIC:
        return UNKNOWN
    domain, law = bonds[0].domain, model.elements[path].law
    if local in _RATIOS:
        above, below = _RATIOS[local]
        return quotient(_unit(domain, above), _unit(domain, below))
    if local == "alpha2":
        return quotient("1/s^2", _square(domain.displacement_unit))
    if local == "value" and hasattr(law, "gives"):
        return _unit(domain, law.gives)
    if local in ("ratio", "modulus") and len(bonds) == 2:
        other = bonds[1].domain
        return quotient(
            other.flow_unit if local == "ratio" else domain.effort_unit, domain.flow_unit if local == "ratio" else other.flow_unit
        )
    return UNKNOWN


def _unit(domain: Domain, variable: str) -> str:
    return {
        "effort": domain.effort_unit,
        "flow": domain.flow_unit,
        "displacement": domain.displacement_unit,
        "momentum": domain.momentum_unit,
    }[variable]


def _square(unit: str) -> str:
    return ", ".join(f"{part} {part}" for part in unit.split(", "))


def quotient(above: str, below: str) -> str:
    """A unit divided by another, component by component: ("N m, N", "rad, m") gives "N m/rad, N/m"."""
    pairs = zip(above.split(", "), below.split(", "), strict=True)
    return ", ".join(dict.fromkeys(_quotient(a, b) for a, b in pairs))


def _quotient(above: str, below: str) -> str:
    over, under = _factors(above)
    more_under, more_over = _factors(below)
    powers = Counter(over + more_over)
    powers.subtract(Counter(under + more_under))
    raised = [name + (f"^{n}" if n > 1 else "") for name, n in powers.items() if n > 0]
    lowered = [name + (f"^{-n}" if n < -1 else "") for name, n in powers.items() if n < 0]
    whole = " ".join(raised) or "1"
    return whole if not lowered else f"{whole}/{lowered[0] if len(lowered) == 1 else '(' + ' '.join(lowered) + ')'}"


def _factors(unit: str) -> tuple[list[str], list[str]]:
    over, _, under = unit.partition("/")
    return _names(over), _names(under.strip("()"))


def _names(product: str) -> list[str]:
    found: list[str] = []
    for factor in product.split():
        name, _, power = factor.partition("^")
        found += [name] * int(power or 1) if name != "1" else []
    return found
