"""Lagrange's and Hamilton's equations from the mechanical equations.

With q' = E v, L = T - V and p = dL/dv the equations are p' = E^T dL/dq + Q; with H = T + V by q and p they are q' = E dH/dp, p' =
-E^T dH/dq + Q. E is the identity except for displacements of springs, on which only V depends.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sympy

from bondgraph.compile.compiled import Compiled
from bondgraph.export.forms.derivation.structure import arranged, inverse, slopes_of
from bondgraph.export.forms.derivation.virtual_power import mechanics_of, no_form
from bondgraph.export.forms.expression_text import letter_of
from bondgraph.export.forms.records import HamiltonEquations, LagrangeEquations, MechanicalEquations
from bondgraph.model import laws


def _configurations(compiled: Compiled, numbers: bool) -> MechanicalEquations:
    """Return mechanical equations whose velocities are the rates of coordinates; raise E278 for others."""
    for path, element in compiled.model.elements.items():
        law = element.law
        if isinstance(law, laws.Storage) and law.gives == "flow" and path not in compiled.causality.derivative:
            raise no_form(compiled, path, "it has no coordinate of its own", "an IC with its kinetic energy")
        if isinstance(law, laws.InertialField) and law.mechanics is not None and law.mechanics.owns_bias:
            raise no_form(compiled, path, "its centrifugal forces are a formula of its own", "`mechanical_equations`")
    return mechanics_of(compiled, numbers)


def lagrange_of(compiled: Compiled, numbers: bool) -> LagrangeEquations:
    """Return Lagrange's equations."""
    mechanics = _configurations(compiled, numbers)
    q, v = _symbols(mechanics.q), _symbols(mechanics.v)
    L = mechanics.T - mechanics.V
    p = slopes_of(sympy.Matrix([L]), v).T
    slopes = mechanics.E.T * slopes_of(sympy.Matrix([L]), q).T
    moving = [*q, *v]
    return LagrangeEquations(
        mechanics.name, L, arranged(p, moving), arranged(slopes, moving), _forces(mechanics), mechanics, _letters(mechanics)
    )


def hamilton_of(compiled: Compiled, numbers: bool) -> HamiltonEquations:
    """Return Hamilton's equations."""
    mechanics = _configurations(compiled, numbers)
    names = tuple(_momentum(name) for name in mechanics.v)
    q, p = _symbols(mechanics.q), _symbols(names)
    momenta = sympy.Matrix(p)
    velocity = inverse(mechanics.M) * momenta
    moving = [*q, *p]
    H = arranged(sympy.Matrix([(momenta.T * velocity)[0] / 2 + mechanics.V]), moving)[0]
    forces = _forces(mechanics).xreplace(dict(zip(_symbols(mechanics.v), velocity, strict=True)))
    p_rates = -mechanics.E.T * slopes_of(sympy.Matrix([H]), q).T + forces
    q_rates = mechanics.E * slopes_of(sympy.Matrix([H]), p).T
    return HamiltonEquations(
        mechanics.name, H, arranged(q_rates, moving), arranged(p_rates, moving), names, mechanics, _letters(mechanics)
    )


def _forces(mechanics: MechanicalEquations) -> Any:
    """Return B u - D v + H^T lambda."""
    v, u, multipliers = (
        sympy.Matrix(len(names), 1, _symbols(names)) for names in (mechanics.v, mechanics.u, mechanics.multipliers)
    )
    return mechanics.B * u - mechanics.D * v + mechanics.H.T * multipliers


def _symbols(names: tuple[str, ...]) -> list[Any]:
    return [sympy.Symbol(name, real=True) for name in names]


def _momentum(velocity: str) -> str:
    """Return the name of the momentum that belongs to a velocity, `arm.p[0]` to `arm.v[0]`."""
    path, _, local = velocity.rpartition(".")
    return f"{path}.p{local.removeprefix('v')}"


def _letters(mechanics: MechanicalEquations) -> Mapping[str, str]:
    """Return letters, including those of momenta that are no states of the model."""
    momenta = {_momentum(name): letter_of(mechanics.letters, name).replace("v", "p", 1) for name in mechanics.v}
    return MappingProxyType(momenta | dict(mechanics.letters))
