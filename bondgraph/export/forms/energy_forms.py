"""Mechanical, Lagrange's or Hamilton's equations of a model, in SymPy.

Lagrange's and Hamilton's equations follow from the mechanical equations. With q' = E v, L = T - V and p = dL/dv, Lagrange's
equations are p' = E^T dL/dq + Q. With H = T + V in terms of q and p, Hamilton's equations are q' = E dH/dp, p' = -E^T dH/dq + Q.
E is the identity except for displacements of springs, on which only V depends, and of constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import FixedEntries
from bondgraph.export.forms.derivation.structure import arranged, inverse, slopes_of
from bondgraph.export.forms.derivation.virtual_power import mechanics_of, no_form
from bondgraph.export.forms.expression_text import letter_of
from bondgraph.export.forms.records import HamiltonEquations, LagrangeEquations, MechanicalEquations
from bondgraph.model import laws
from bondgraph.output.lazy import sympy


def mechanical_equations(model: Compilable, *, numbers: bool = False) -> MechanicalEquations:
    """Return M(q) v' + C v + D v + grad V = H^T lambda + B u of a model whose storages are inertias (I, IC) and potentials (C).

    Every other flow follows from the velocities v of the independent inertias; q are all other states. Constraints add H v' =
    gamma. `mass_matrix` and `forcing` belong to (v', lambda), as in `sympy.physics.mechanics`.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    numbers : substitute the values of all parameters except source parameters.

    Raises `ModelError` E100 if `model` is not a model; E335 for delays, E693 for FMUs; E278 for an element that these equations
    cannot represent; E273, E274 as `state_equations` does.

    >>> from bondgraph import IC, J1, Graph, R
    >>> from screws.scalars import cos
    >>> arm = IC("arm", inertia=lambda q: 2, potential=lambda q: -20 * cos(q), position=0.3)
    >>> graph = Graph("pendulum").connect(rate := J1("rate"), arm).connect(rate, R("bearing", 1.0))
    >>> print(mechanical_equations(graph))
    M v' + C v + D v + grad V = 0, q' = E v
    q = [arm.q]
    v = [arm.v]
    M = [2]
    C = [0]
    D = [bearing.resistance]
    grad V = [20*sin(arm.q)]
    E = [1]
    """
    return mechanics_of(compiled_form(model, "mechanical_equations"), numbers)


def lagrange_equations(model: Compilable, *, numbers: bool = False) -> LagrangeEquations:
    """Return d/dt(dL/dv) = E^T dL/dq + Q, with L = T - V, for a model whose independent inertias are IC fields.

    Arguments and errors are those of `mechanical_equations`, with E278 also for velocities that are not the rates of coordinates,
    an IC with its own `bias`, and an Euler junction.
    """
    mechanics = _configurations(compiled_form(model, "lagrange_equations"), numbers)
    q, v = _symbols(mechanics.q), _symbols(mechanics.v)
    L = mechanics.T - mechanics.V
    p = slopes_of(sympy.Matrix([L]), v).T
    slopes = mechanics.E.T * slopes_of(sympy.Matrix([L]), q).T
    moving = [*q, *v]
    return LagrangeEquations(
        mechanics.name,
        L,
        arranged(p, moving),
        arranged(slopes, moving),
        _forces(mechanics),
        mechanics,
        _conditions(mechanics, sympy.Matrix(v), moving),
        _letters(mechanics),
    )


def hamilton_equations(model: Compilable, *, numbers: bool = False) -> HamiltonEquations:
    """Return q' = E dH/dp, p' = -E^T dH/dq + Q, with H = T + V, for a model whose independent inertias are IC fields.

    Arguments and errors are those of `lagrange_equations`.
    """
    mechanics = _configurations(compiled_form(model, "hamilton_equations"), numbers)
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
        mechanics.name,
        H,
        arranged(q_rates, moving),
        arranged(p_rates, moving),
        names,
        mechanics,
        _conditions(mechanics, velocity, moving),
        _letters(mechanics),
    )


def _conditions(mechanics: MechanicalEquations, velocity: Any, moving: list[Any]) -> Any:
    held = arranged(mechanics.H * velocity, moving)
    return sympy.Matrix(len(held), 1, [rate if h == 0 else h for h, rate in zip(mechanics.h, held, strict=True)])


def _configurations(compiled: Compiled, numbers: bool) -> MechanicalEquations:
    """Return mechanical equations whose velocities are the rates of coordinates, and whose centrifugal forces follow from the
    kinetic energy; raise E278 for an element that prevents this."""
    form = "Lagrange's or Hamilton's equations"
    for path, element in compiled.model.elements.items():
        law = element.law
        if isinstance(law, laws.Storage) and laws.is_inertia(law) and path not in compiled.causality.derivative:
            raise no_form(compiled, path, "it has no coordinate", "an IC with its kinetic energy", form)
        if isinstance(law, laws.InertialField) and law.mechanics is not None and law.mechanics.has_user_bias:
            raise no_form(compiled, path, "its centrifugal forces are a separate formula", "`mechanical_equations`", form)
        if isinstance(law, laws.SkewGyrator):
            raise no_form(compiled, path, "its force follows from no energy", "`mechanical_equations`", form)
    return mechanics_of(compiled, numbers)


def _forces(mechanics: MechanicalEquations) -> Any:
    v, u, multipliers = (
        sympy.Matrix(len(names), 1, _symbols(names)) for names in (mechanics.v, mechanics.u, mechanics.multipliers)
    )
    return mechanics.B * u - mechanics.D * v + mechanics.H.T * multipliers


def _symbols(names: tuple[str, ...]) -> list[Any]:
    return [sympy.Symbol(name, real=True) for name in names]


def _momentum(velocity: str) -> str:
    path, _, local = velocity.rpartition(".")
    return f"{path}.p{local.removeprefix('v')}"


def _letters(mechanics: MechanicalEquations) -> Mapping[str, str]:
    momenta = {_momentum(name): letter_of(mechanics.letters, name).replace("v", "p", 1) for name in mechanics.v}
    return FixedEntries(momenta | dict(mechanics.letters))
