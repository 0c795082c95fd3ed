"""IC field of a tree's joint coordinates, with the form and the recursion that take the fewest operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.bodies import latex_name
from screwbond.models.chains import limits as stops
from screwbond.models.chains.costs import articulated_is_shorter, recursion_is_shorter
from screwbond.models.chains.dynamics import bias, inertia_numbers, kinetic_energy, mass_matrix, potential
from screwbond.models.chains.options import ChainOptions
from screwbond.models.chains.recursion import forward_dynamics
from screwbond.models.chains.trees import Tree

from bondgraph import IC, Element, Op, Parameter
from bondgraph.model.domains import Domain, motions
from bondgraph.model.units import quotient

DYNAMICS = "Featherstone 2008"
"""Source of the formulas of `dynamics`."""


def mechanism(tree: Tree, options: ChainOptions) -> Element:
    """Return the IC. Its formulas take the numbers of the inertias, then gravity and the stops' stiffness, if any."""
    numbers, form, gravity, stiffness = inertia_numbers(tree), options.form, options.gravity, options.stiffness(tree)
    count, domain = len(numbers), joint_domain(tree)
    parameters = {name: Parameter(value, unit) for name, (value, unit) in numbers.items()}
    size = float(np.linalg.norm(gravity))
    direction = gravity / size if size else gravity
    if size:
        parameters["gravity"] = Parameter(size, "m/s^2")
    if stiffness is not None:
        parameters["stop stiffness"] = Parameter(stiffness, quotient(domain.effort_unit, domain.displacement_unit))

    def energy(q: Any, *p: Any) -> Any:
        total: Any = potential(tree, direction * p[count], q, *p[:count]) if size else 0.0
        return total + stops.energy(tree, q, p[-1]) if stiffness is not None else total

    def acceleration(q: Any, v: Any, effort: Any, *p: Any) -> Any:
        free = effort - stops.force(tree, q, p[-1]) if stiffness is not None else effort
        return forward_dynamics(tree, q, v, free, direction * p[count] if size else gravity, *p[:count])

    formulas: dict[str, Any] = {"inertia": Op("M", lambda q, *p: mass_matrix(tree, q, *p[:count]), "M(#1)", DYNAMICS)}
    if form == "lagrangian" and articulated_is_shorter(tree):
        formulas["kinetic"] = Op("T", lambda q, v, *p: kinetic_energy(tree, q, v, *p[:count]), "T(#1, #2)", DYNAMICS)
        formulas["acceleration"] = Op("v'", acceleration, r"\dot v(#1, #2, #3)", DYNAMICS)
    elif form == "lagrangian" and recursion_is_shorter(tree):
        formulas["bias"] = Op("h", lambda q, v, *p: bias(tree, q, v, *p[:count]), "h(#1, #2)", DYNAMICS)
    return IC(
        "mechanism",
        **formulas,
        potential=Op("V", energy, "V(#1)") if size or stiffness is not None else None,
        form=form,
        position=options.position,
        velocity=options.velocity,
        parameters=parameters,
        nominal=options.nominal,
        dimension=tree.freedoms,
        domain=domain,
        symbols={"q": "q", "v": r"\dot q", "p": "p", **_letters(tree), "gravity": "g", "stop stiffness": r"K_{\mathrm{stop}}"},
    )


def joint_domain(tree: Tree) -> Domain:
    """Return the domain of the joints' bond."""
    return motions(list(tree.is_angle))


def _letters(tree: Tree) -> dict[str, str]:
    """Return the letters of the inertias: m, centre of mass c and moments of inertia I, of each link."""
    kinds, letters = {"mass": "m", "centre": "c", "inertia": "I"}, {}
    for link in tree.links:
        for name in inertia_numbers(tree):
            kind, *entry = name.removeprefix(f"{link.name} ").split(" ")
            if name.startswith(f"{link.name} ") and kind in kinds and len(entry) < 2:
                letters[name] = f"{kinds[kind]}_{{{','.join((*entry, latex_name(link.name)))}}}"
    return letters
