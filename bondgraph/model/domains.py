"""Physical domains: names and units of effort and flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.errors import ByName, refusal
from bondgraph.model.units import joined, parts, quotient
from bondgraph.units import Unit, read


@dataclass(frozen=True)
class Domain:
    """Physical domain: a pair of power-conjugate variables, effort * flow = power in W, or the variables of pseudo-bonds.

    With `pseudo` the flow itself is the power, in W, as in a thermal pseudo-bond of temperature and heat flow: a C stores the
    integral of its flow, and an R between two temperatures passes on the heat that it takes.

    Raises `ModelError` E179 for a pseudo-domain whose flow is not in W or whose displacement is not in J.

    Source of pseudo-bonds: Karnopp, Margolis and Rosenberg 2012, chapter 12.
    """

    name: str
    effort: str
    effort_unit: str
    flow: str
    flow_unit: str
    displacement_unit: str
    momentum_unit: str
    dimension: int | None = None
    """Dimension of every bond of the domain; None if it is free."""

    parts: tuple[str, str, str] = ("a compliance", "an inertia", "a resistance")
    """Names of a C, an I and an R."""
    energies: tuple[str, str] = ("in C", "in I")
    """Names of the energies of a C and of an I."""
    pseudo: bool = False

    def __post_init__(self) -> None:
        if self.pseudo and (self.flow_unit, self.displacement_unit) != ("W", "J"):
            units = f"{self.flow_unit or 'no unit'} and {self.displacement_unit or 'no unit'}"
            title = f'the pseudo-domain "{self.name}" needs flows in W and displacements in J, not {units}'
            why = "the flow of a pseudo-bond is the power in the energy balance: W, and J for its integral"
            cure = f'Domain("{self.name}", "temperature", "K", "heat flow", "W", "J", "K s", pseudo=True)'
            raise refusal("E179", title, cure, "the domain without pseudo=True", about=self.name, why=why)

    @property
    def energy_unit(self) -> str:
        """Unit of energy: of effort times displacement or, for pseudo-bonds, of the displacement alone; "J" if the power is in W.

        >>> ELECTRICAL.energy_unit, Domain("own", "temperature", "K", "heat flow", "W", "J", "").energy_unit, HEAT.energy_unit
        ('J', 'K W s', 'J')
        """
        power = self.power_unit
        return "J" if power == "W" else quotient(power, "1/s") or f"{power} s"

    @property
    def power_unit(self) -> str:
        """Unit of power: of effort times flow or, for pseudo-bonds, of the flow alone; "W" if energies are in J."""
        if self.pseudo:
            return self.flow_unit
        pairs = list(zip(parts(self.effort_unit), parts(self.flow_unit), strict=False))
        unlike = [(effort, flow) for effort, flow in pairs if effort and flow and not _is_watt(f"({effort}) ({flow})")]
        return (quotient(unlike[0][0], quotient("1", unlike[0][1])) or " ".join(unlike[0])) if unlike else "W"

    def part(self, kind: str) -> str:
        """Return a C, I or R with its name in this domain: "a C (a spring)"."""
        return f"{'an' if kind in 'IR' else 'a'} {kind} ({self.parts['CIR'.index(kind)]})"


def _is_watt(unit: str) -> bool:
    product, watt = read(unit), read("W")
    return (
        isinstance(product, Unit)
        and isinstance(watt, Unit)
        and (product.ratio, product.dimension) == (watt.ratio, watt.dimension)
    )


GENERIC = Domain("generic", "effort", "", "flow", "", "", "")
_CIRCUIT = ("a capacitor", "a coil", "a resistance")
ELECTRICAL = Domain("electrical", "voltage", "V", "current", "A", "C", "Wb", None, _CIRCUIT, ("electric", "magnetic"))
_SLIDING, _MOTION = ("a spring", "a mass", "a damper"), ("potential", "kinetic")
TRANSLATION = Domain("translation", "force", "N", "velocity", "m/s", "m", "N s", None, _SLIDING, _MOTION)
_TURNING = ("a torsion spring", "a moment of inertia", "a rotary damper")
ROTATION = Domain("rotation", "torque", "N m", "angular velocity", "rad/s", "rad", "N m s", None, _TURNING, _MOTION)
_FLUID = ("an elastic chamber", "the inertia of a line", "a throttle")
HYDRAULIC = Domain("hydraulic", "pressure", "Pa", "volume flow", "m^3/s", "m^3", "Pa s", None, _FLUID, _MOTION)
_HEAT = ("a heat capacity", "no such part", "a thermal resistance")
THERMAL = Domain("thermal", "temperature", "K", "entropy flow", "W/K", "J/K", "K s", None, _HEAT, ("thermal", "thermal"))
_SPECIES, _BOUND = ("a species", "no such part", "a reaction"), ("chemical", "chemical")
HEAT = Domain("heat", "temperature", "K", "heat flow", "W", "J", "K s", None, _HEAT, ("thermal", "thermal"), pseudo=True)
"""Thermal pseudo-bonds: temperature and heat flow."""
_MAGNETIC = ("a permeance", "no such part", "an eddy-current loss")
MAGNETIC = Domain(
    "magnetic", "magnetomotive force", "A", "flux rate", "Wb/s", "Wb", "A s", None, _MAGNETIC, ("magnetic", "magnetic")
)
"""Magnetic circuits whose displacement is the flux, so a reluctance stores energy (Buntenbach 1969)."""
CHEMICAL = Domain("chemical", "chemical potential", "J/mol", "molar flow", "mol/s", "mol", "J s/mol", None, _SPECIES, _BOUND)
SCREW = Domain("screw", "wrench", "N m, N", "twist", "rad/s, m/s", "rad, m", "N m s, N s", 6, energies=_MOTION)

_TRUE = (GENERIC, ELECTRICAL, TRANSLATION, ROTATION, HYDRAULIC, MAGNETIC, THERMAL, CHEMICAL, SCREW)
DOMAINS = ByName({domain.name: domain for domain in (*_TRUE, HEAT)})
"""Domains by name."""


def motions(turns: Sequence[bool]) -> Domain:
    """Return the domain of a bond of several motions, in order: True for a rotation, False for a translation.

    Equal motions give rotation or translation; the six motions of a twist give the screw domain.
    """
    several = [ROTATION if turn else TRANSLATION for turn in turns]
    if list(turns) == [True] * 3 + [False] * 3:
        return SCREW
    if len(set(turns)) == 1:
        return several[0]
    units = [(d.effort_unit, d.flow_unit, d.displacement_unit, d.momentum_unit) for d in several]
    effort, flow, displacement, momentum = (joined(column) for column in zip(*units, strict=True))
    names = "torques and forces", "velocities"
    return Domain(
        "rotation and translation", names[0], effort, names[1], flow, displacement, momentum, len(several), energies=_MOTION
    )


STORED = ("displacement", "momentum")
"""Quantities that storages store: integrals of a flow or an effort."""


@dataclass(frozen=True)
class Coefficient:
    """Coefficient of a linear C, I or R.

    Parameters
    ----------
    kind : "C", "I" or "R".
    makes, of : result and argument: a stiffness maps a displacement to an effort.
    letter : symbol in formulas.
    domains : domains that use the name; empty for all.
    """

    kind: str
    makes: str
    of: str
    letter: str
    domains: tuple[Domain, ...] = ()

    @property
    def positive(self) -> bool:
        """True if zero is excluded: the law needs the inverse, because the argument follows from the stored quantity."""
        return self.makes in STORED


_MECHANICAL = (TRANSLATION, ROTATION, SCREW)
COEFFICIENTS = {
    "capacitance": Coefficient("C", "displacement", "effort", "C"),
    "compliance": Coefficient("C", "displacement", "effort", "C", _MECHANICAL),
    "stiffness": Coefficient("C", "effort", "displacement", "K"),
    "elastance": Coefficient("C", "effort", "displacement", "K", (ELECTRICAL, HYDRAULIC)),
    "inertia": Coefficient("I", "momentum", "flow", "I"),
    "mass": Coefficient("I", "momentum", "flow", "m", (TRANSLATION,)),
    "inductance": Coefficient("I", "momentum", "flow", "L", (ELECTRICAL,)),
    "inertance": Coefficient("I", "momentum", "flow", "I", (HYDRAULIC,)),
    "resistance": Coefficient("R", "effort", "flow", "R"),
    "damping": Coefficient("R", "effort", "flow", "D", _MECHANICAL),
    "conductance": Coefficient("R", "flow", "effort", "G"),
}
"""Coefficients of a linear C, I or R by name, which is also the name of the parameter."""
