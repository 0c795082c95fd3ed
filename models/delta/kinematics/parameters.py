"""Dimensions and inertias of a delta robot: checked records, two sets that are known, and their JSON files."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from numbers import Real
from pathlib import Path

from bondgraph.errors import ModelError, Problem, raise_if_any
from models.studies.fields import Document, Fields, parse_json

UNITS = {
    "L0": "m",
    "L1": "m",
    "L2": "m",
    "L3": "m",
    "LC1": "m",
    "LC2": "m",
    "M1": "kg",
    "M2": "kg",
    "M3": "kg",
    "J1": "kg m^2",
    "J2": "kg m^2",
    "g": "m/s^2",
    "DAMPING": "N m s",
}
"""Unit of every parameter, in the order of the record."""

SMALLEST, LARGEST = 1e-12, 1e12
"""Sizes, in SI units, beyond which no robot's numbers are; their squares and products stay finite."""

_LINKS = (("proximal", "M1", "L1", "LC1", "J1"), ("distal", "M2", "L2", "LC2", "J2"))


@dataclass(frozen=True)
class DeltaParameters:
    """A delta robot of three equal arms, in the letters of Bortoff 2018 (table I); x3 points down.

    Parameters
    ----------
    L0 : radius of the base, from its axis to the motor shafts, m.
    L1, L2 : lengths of the proximal and the distal link, m.
    L3 : radius of the end effector, from its axis to the tips of the arms, m.
    LC1, LC2 : distance of a link's centre of mass from its upper joint, m.
    M1, M2 : mass of one arm's proximal and distal link (a pair of rods counts as one), kg.
    M3 : ONE THIRD of the mass of the end effector, kg.
    J1, J2 : moment of inertia of a link about its own centre of mass, across the rod, kg m^2.
    g : acceleration of gravity along x3, m/s^2.
    DAMPING : viscous damping of each of the nine joint angles, N m s.

    Raises
    ------
    ModelError
        E460 for a number that is negative (g may be), not finite or out of any sense, or a link without length; E461 for a centre
        of mass beyond the end of its link, or an inertia that no rod can have: mass M that lies between the ends of a
        link of length L and has its centre at LC satisfies J <= M LC (L - LC), with equality where all of it sits at
        the two ends; E462 for an arm that some motion costs no kinetic energy.

    Source: Bortoff 2018, table I and appendix.
    """

    L0: float
    L1: float
    L2: float
    L3: float
    LC1: float
    LC2: float
    M1: float
    M2: float
    M3: float
    J1: float
    J2: float
    g: float = 9.81
    DAMPING: float = 0.0

    def __post_init__(self) -> None:
        problems = _findings(self)
        raise_if_any("delta robot", problems)
        for name in UNITS:
            object.__setattr__(self, name, float(getattr(self, name)))

    @classmethod
    def fit(cls) -> DeltaParameters:
        """Numbers that reproduce the poles of Bortoff 2018 (fig. 5) as closely as uniform rods can."""
        return cls(
            L0=0.175, L1=0.24, L2=0.42, L3=0.05, LC1=0.12, LC2=0.21, M1=0.4, M2=0.3, M3=0.1, J1=0.00192, J2=0.00441, DAMPING=0.04
        )

    @classmethod
    def lab(cls) -> DeltaParameters:
        """A larger robot, not fitted to anything."""
        return cls(L0=0.2, L1=0.3, L2=0.8, L3=0.05, LC1=0.15, LC2=0.4, M1=1.0, M2=0.3, M3=0.3, J1=0.02, J2=0.02, DAMPING=0.1)

    @classmethod
    def from_json(cls, text: str, file: str = "parameters") -> DeltaParameters:
        """Parameters from a JSON object with one number for each name; g and DAMPING may be left out.

        Parameters
        ----------
        text : the JSON text; it is parsed, never evaluated. Keys that begin with _ or "comment" are comments.
        file : what the text is called in messages.

        Raises
        ------
        ModelError
            E402 to E406 for the text, E460 to E462 for the numbers.
        """
        document = Document(file)
        values = parse_json(text, document)
        numbers: dict[str, float] = {}
        if values is not None:
            given = Fields(document, "", values)
            defaults = {field.name: field.default for field in fields(cls) if isinstance(field.default, float)}
            numbers = {name: given.number(name, unit, defaults.get(name)) for name, unit in UNITS.items()}
            given.finish(())
        raise_if_any(file, document.problems)
        return cls(**numbers)

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def values(self) -> tuple[float, ...]:
        """The numbers in the order of `UNITS`."""
        return tuple(getattr(self, name) for name in UNITS)


def read_parameters(path: str | os.PathLike[str]) -> DeltaParameters:
    """Parameters from a JSON file.

    Raises
    ------
    ModelError
        E401 if the file cannot be read; else as `DeltaParameters.from_json`.
    """
    name = os.fspath(path)
    document = Document(name)
    text = None
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        document.report("E401", "", "it is not UTF-8 text")
    except OSError as error:
        document.report("E401", "", f"it cannot be read: {error.strerror or error}")
    if text is None:
        raise ModelError(Path(path).name, document.problems)
    return DeltaParameters.from_json(text, name)


def _findings(p: DeltaParameters) -> list[Problem]:
    problems = []
    for name, unit in UNITS.items():
        value = getattr(p, name)
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            problems.append(_no("E460", f"{name} = {value!r} is no finite number", f"a number in {unit}"))
        elif value and not SMALLEST <= abs(float(value)) <= LARGEST:
            problems.append(_no("E460", f"{name} = {value:g} {unit} is out of any sense", f"a number in {unit}"))
        elif name in ("L1", "L2") and value <= 0.0:
            problems.append(_no("E460", f"{name} = {value:g} m is no length of a link", "a positive length in m"))
        elif name != "g" and value < 0.0:
            problems.append(_no("E460", f"{name} = {value:g} {unit} is negative", f"zero or more {unit}"))
    if problems:
        return problems
    for link, mass, length, centre, inertia in _LINKS:
        M, L, LC, J = (float(getattr(p, name)) for name in (mass, length, centre, inertia))
        bound = M * LC * (L - LC)
        if LC > L:
            cure = f"{centre} counts from the upper joint and ends with the link, at {length} = {L:g} m"
            problems.append(_no("E461", f"the {link} link's centre of mass {centre} = {LC:g} m is beyond its end", cure))
        elif bound * (1.0 + 1e-9) < J:
            problems.append(
                _no(
                    "E461",
                    f"{inertia} = {J:g} kg m^2 is more than a {link} link of {M:g} kg between its joints can have",
                    f"at most {mass} {centre} ({length} - {centre}) = {bound:g} kg m^2; "
                    f"a uniform rod has {mass} {length}^2 / 12 = {M * L * L / 12.0:g} kg m^2",
                    "J about the centre of mass, not about a joint; the rotor of a motor is an element I at the motor's port",
                )
            )
    if p.J1 + p.M1 * p.LC1 * p.LC1 <= 0.0:
        problems.append(_no("E462", "the proximal link has no inertia about its shaft", "positive M1 and LC1, or J1"))
    if p.J2 + p.M2 * p.LC2 * p.LC2 + p.M3 * p.L2 * p.L2 <= 0.0:
        problems.append(_no("E462", "the distal link has no inertia about its elbow", "positive M2 and LC2, or M3, or J2"))
    return problems


def _no(code: str, title: str, *cures: str) -> Problem:
    return Problem(code, title, cures=cures)
