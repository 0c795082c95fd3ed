"""Parameters of a delta robot: dimensions and inertias with checks, two named sets, and their JSON files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from screwbond.models.studies.fields import check_record, declarations, number
from screwbond.models.studies.reading import read_file, read_text

from bondgraph.errors import Problem

MIN_SIZE, MAX_SIZE = 1e-12, 1e12
"""Smallest and largest accepted magnitudes of nonzero parameters, SI units; their squares and products stay finite."""

_LINKS = (("proximal", "M1", "L1", "LC1", "J1"), ("distal", "M2", "L2", "LC2", "J2"))


@dataclass(frozen=True)
class DeltaParameters:
    """Parameters of a delta robot with three equal arms, with the symbols of Bortoff 2018 (table I); x3 points down.

    Link 1 is proximal, link 2 distal; a pair of distal rods counts as one link.

    Raises `ModelError` E460 for a number that is negative (g may be), not finite or unrealistic, or a link without length; E461
    for a centre of mass beyond the end of its link, or an inertia that no rod can have: a mass M between the ends of a link of
    length L with its centre at LC satisfies J <= M LC (L - LC), with equality if the mass is concentrated at both ends; E462 for
    an arm that can move without kinetic energy.

    Source: Bortoff 2018, table I and appendix.
    """

    L0: float = number("m", "radius of the base, from its axis to the motor shafts", least=0.0)
    L1: float = number("m", "length of the proximal link", above=0.0)
    L2: float = number("m", "length of the distal link", above=0.0)
    L3: float = number("m", "radius of the end effector, from its axis to the tips of the arms", least=0.0)
    LC1: float = number("m", "distance of the proximal link's centre of mass from its upper joint", least=0.0)
    LC2: float = number("m", "distance of the distal link's centre of mass from its upper joint", least=0.0)
    M1: float = number("kg", "mass of one arm's proximal link", least=0.0)
    M2: float = number("kg", "mass of one arm's distal link", least=0.0)
    M3: float = number("kg", "ONE THIRD of the mass of the end effector", least=0.0)
    J1: float = number("kg m^2", "inertia of the proximal link about a transverse axis through its own centre of mass", least=0.0)
    J2: float = number("kg m^2", "inertia of the distal link about a transverse axis through its own centre of mass", least=0.0)
    g: float = number("m/s^2", "acceleration of gravity along x3", 9.81)
    DAMPING: float = number("N m s", "viscous damping of each of the nine joint angles", 0.0, least=0.0)

    def __post_init__(self) -> None:
        check_record(self, "E460", "delta robot", _contradictions)

    @classmethod
    def fit(cls) -> DeltaParameters:
        """Return parameters that reproduce the poles of Bortoff 2018 (fig. 5) as closely as uniform rods can."""
        return cls(
            L0=0.175, L1=0.24, L2=0.42, L3=0.05, LC1=0.12, LC2=0.21, M1=0.4, M2=0.3, M3=0.1, J1=0.00192, J2=0.00441, DAMPING=0.04
        )

    @classmethod
    def lab(cls) -> DeltaParameters:
        """Return parameters of a larger robot, not fitted to any data."""
        return cls(L0=0.2, L1=0.3, L2=0.8, L3=0.05, LC1=0.15, LC2=0.4, M1=1.0, M2=0.3, M3=0.3, J1=0.02, J2=0.02, DAMPING=0.1)

    @classmethod
    def from_json(cls, text: str, file: str = "parameters") -> DeltaParameters:
        """Return parameters from a JSON object with one number for each name; g and DAMPING are optional.

        Parameters
        ----------
        text : the JSON text; it is parsed, never evaluated. Keys that begin with _ or "comment" are comments.
        file : name of the text in messages.

        Raises `ModelError` E402 to E407 for the text, E460 to E462 for inconsistent parameters.
        """
        return read_text(text, file, lambda source: source.read(cls), cls)

    def to_json(self) -> str:
        """Return a JSON string for `from_json`."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def values(self) -> tuple[float, ...]:
        """Return the values in the order of `UNITS`."""
        return tuple(getattr(self, name) for name in UNITS)


UNITS = {name: declared.unit for name, declared in declarations(DeltaParameters).items()}

LETTERS = {name: f"{name[0]}_{{{name[1:]}}}" if name[1:] else name for name in UNITS} | {"DAMPING": "D"}
"""Symbol of every parameter, as in Bortoff 2018: L_{C1} for LC1."""


def read_parameters(path: str | os.PathLike[str]) -> DeltaParameters:
    """Return parameters from a JSON file.

    Raises `ModelError` E401 if the file cannot be read; else as for `DeltaParameters.from_json`.
    """
    return read_file(path, lambda source: source.read(DeltaParameters), DeltaParameters)


def _contradictions(p: DeltaParameters) -> Iterator[Problem]:
    out_of_range = [name for name in UNITS if getattr(p, name) and not MIN_SIZE <= abs(getattr(p, name)) <= MAX_SIZE]
    for name in out_of_range:
        yield _problem("E460", f"{name} = {getattr(p, name):g} {UNITS[name]} is unrealistic", f"a number in {UNITS[name]}")
    if out_of_range:
        return
    for link, mass, length, centre, inertia in _LINKS:
        M, L, LC, J = (getattr(p, name) for name in (mass, length, centre, inertia))
        bound = M * LC * (L - LC)
        if LC > L:
            cure = f"{centre} is measured from the upper joint, and the link is {length} = {L:g} m long"
            yield _problem("E461", f"the {link} link's centre of mass {centre} = {LC:g} m is beyond its end", cure)
        elif bound * (1.0 + 1e-9) < J:
            yield _problem(
                "E461",
                f"{inertia} = {J:g} kg m^2 is too large for a {link} link of {M:g} kg whose mass lies between its joints",
                f"at most {mass} {centre} ({length} - {centre}) = {bound:g} kg m^2; "
                f"a uniform rod has {mass} {length}^2 / 12 = {M * L * L / 12.0:g} kg m^2",
                "J about the centre of mass, not about a joint; the rotor of a motor is an element I at the motor's port",
            )
    if p.J1 + p.M1 * p.LC1 * p.LC1 <= 0.0:
        yield _problem("E462", "the proximal link has no inertia about its shaft", "positive M1 and LC1, or J1")
    if p.J2 + p.M2 * p.LC2 * p.LC2 + p.M3 * p.L2 * p.L2 <= 0.0:
        yield _problem("E462", "the distal link has no inertia about its elbow", "positive M2 and LC2, or M3, or J2")


def _problem(code: str, title: str, *cures: str) -> Problem:
    return Problem(code, title, cures=cures)
