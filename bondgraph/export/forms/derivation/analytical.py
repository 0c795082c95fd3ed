"""Analytical mechanics: mechanical equations of configurations -> Lagrange's and Hamilton's equations.

With q' = E v, L = T - V and p = dL/dv the equations are p' = E^T dL/dq + Q; with H = T + V by q and p they are q' = E dH/dp,
p' = -E^T dH/dq + Q. E is the identity but for displacements of springs, on which only V depends.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sympy

from bondgraph.compile.compiled import Compiled
from bondgraph.export.forms.derivation.mechanical_parts import no_form
from bondgraph.export.forms.derivation.structure import arranged, inverse, slopes_of
from bondgraph.export.forms.derivation.virtual_power import mechanics_of
from bondgraph.export.forms.letters import letter_of
from bondgraph.export.forms.records import HamiltonEquations, LagrangeEquations, MechanicalEquations
from bondgraph.model import laws


def _configurations(compiled: Compiled, numbers: bool) -> MechanicalEquations:
    """Mechanical equations whose velocities are the rates of coordinates; E278 for others."""
    for path, element in compiled.model.elements.items():
        law = element.law
        if isinstance(law, laws.Storage) and law.gives == "flow" and path not in compiled.causality.derivative:
            raise no_form(compiled, path, "it has no coordinate of its own", "an IC with its kinetic energy")
        if isinstance(law, laws.InertialField) and law.mechanics is not None and law.mechanics.owns_bias:
            raise no_form(compiled, path, "its centrifugal forces are a formula of its own", "`mechanical_equations`")
    return mechanics_of(compiled, numbers)


def lagrange_of(compiled: Compiled, numbers: bool) -> LagrangeEquations:
    """Lagrange's equations."""
    found = _configurations(compiled, numbers)
    q, v = _symbols(found.q), _symbols(found.v)
    L = found.T - found.V
    p = slopes_of(sympy.Matrix([L]), v).T
    slopes = found.E.T * slopes_of(sympy.Matrix([L]), q).T
    moving = [*q, *v]
    return LagrangeEquations(found.name, L, arranged(p, moving), arranged(slopes, moving), _forces(found), found, _letters(found))


def hamilton_of(compiled: Compiled, numbers: bool) -> HamiltonEquations:
    """Hamilton's equations."""
    found = _configurations(compiled, numbers)
    names = tuple(_momentum(name) for name in found.v)
    q, p = _symbols(found.q), _symbols(names)
    momenta = sympy.Matrix(p)
    velocity = inverse(found.M) * momenta
    moving = [*q, *p]
    H = arranged(sympy.Matrix([(momenta.T * velocity)[0] / 2 + found.V]), moving)[0]
    forces = _forces(found).xreplace(dict(zip(_symbols(found.v), velocity, strict=True)))
    p_rates = -found.E.T * slopes_of(sympy.Matrix([H]), q).T + forces
    q_rates = found.E * slopes_of(sympy.Matrix([H]), p).T
    return HamiltonEquations(found.name, H, arranged(q_rates, moving), arranged(p_rates, moving), names, found, _letters(found))


def _forces(found: MechanicalEquations) -> Any:
    """B u - D v + H^T lambda."""
    v, u, multipliers = (sympy.Matrix(len(names), 1, _symbols(names)) for names in (found.v, found.u, found.multipliers))
    return found.B * u - found.D * v + found.H.T * multipliers


def _symbols(names: tuple[str, ...]) -> list[Any]:
    return [sympy.Symbol(name, real=True) for name in names]


def _momentum(velocity: str) -> str:
    """Name of the momentum that belongs to a velocity, `arm.p[0]` to `arm.v[0]`."""
    path, _, local = velocity.rpartition(".")
    return f"{path}.p{local.removeprefix('v')}"


def _letters(found: MechanicalEquations) -> Mapping[str, str]:
    """With letters for momenta that are no states of the model."""
    own = {_momentum(name): letter_of(found.letters, name).replace("v", "p", 1) for name in found.v}
    return MappingProxyType(own | dict(found.letters))
