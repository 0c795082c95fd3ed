"""Physical domains: what effort and flow are called, and their units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Domain:
    """A pair of power-conjugate variables: effort * flow = power in W."""

    name: str
    effort: str
    effort_unit: str
    flow: str
    flow_unit: str
    displacement_unit: str
    momentum_unit: str
    dimension: int | None = None
    """Dimension of every bond of the domain; None where it is free."""


GENERIC = Domain("generic", "effort", "", "flow", "", "", "")
ELECTRICAL = Domain("electrical", "voltage", "V", "current", "A", "C", "Wb")
TRANSLATION = Domain("translation", "force", "N", "velocity", "m/s", "m", "N s")
ROTATION = Domain("rotation", "torque", "N m", "angular velocity", "rad/s", "rad", "N m s")
HYDRAULIC = Domain("hydraulic", "pressure", "Pa", "volume flow", "m^3/s", "m^3", "Pa s")
THERMAL = Domain("thermal", "temperature", "K", "entropy flow", "W/K", "J/K", "K s")
CHEMICAL = Domain("chemical", "chemical potential", "J/mol", "molar flow", "mol/s", "mol", "J s/mol")
SCREW = Domain("screw", "wrench", "N m, N", "twist", "rad/s, m/s", "rad, m", "N m s, N s", dimension=6)

DOMAINS = {
    domain.name: domain for domain in (GENERIC, ELECTRICAL, TRANSLATION, ROTATION, HYDRAULIC, THERMAL, CHEMICAL, SCREW)
}
"""Every domain by its name."""
