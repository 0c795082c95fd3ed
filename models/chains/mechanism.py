"""IC field of a tree's joint coordinates, with the form and the recursion that take the fewest operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.bodies import latex_name
from screwbond.models.chains import limits as stops
from screwbond.models.chains.dynamics import bias, inertia_numbers, kinetic_energy, mass_matrix, potential
from screwbond.models.chains.options import ChainOptions
from screwbond.models.chains.recursion import forward_dynamics
from screwbond.models.chains.sections import Section
from screwbond.models.chains.trees import Tree

from bondgraph import IC, Element, Op, Parameter
from bondgraph.model.domains import Domain, motions
from bondgraph.model.units import quotient

MATRIX_PREFERENCE = 1.25
"""Factor that the mass matrix may cost over the recursion: with M(q) the equations can be written down."""


@dataclass(frozen=True)
class Cost:
    """Operations that one more section costs."""

    fixed: float
    """For mass matrix, velocity forces and weight."""
    carried: float
    """To transform its momentum and that of each section that it carries to the frame before."""
    articulated: float
    """For its articulated body and acceleration."""


PARALLEL, RIGHT_ANGLED, OBLIQUE = Cost(67, 9, 105), Cost(162, 17, 307), Cost(470, 45, 724)
"""Cost of a section in a planar mechanism, of one with axes along those of the frame before, and of any other: exact for each
further joint in a row. Joints through one point and the ends of branches take less."""


def recursion_is_shorter(tree: Tree) -> bool:
    """Return True if M(q) and h(q, v) together take fewer operations with h by recursion than with h by differentiation.

    The recursion grows with the number of joints in a row, the derivatives of M(q) with its square and more. They
    meet at four joints with parallel and right-angled axes (the finger of a hand: 305 operations for v' by derivatives, 393 by
    recursion), at three with oblique ones (694 and 722 for M and h; of seven joints 7425 and 3157).
    """
    freedoms = tree.sections.freedoms
    longest = max(len(tree.sections.path(k + 1)) for k in range(len(freedoms)))
    return longest > (3 if any(_is_oblique(section) for section in freedoms) else 4)


def articulated_is_shorter(tree: Tree) -> bool:
    """Return True if v' takes clearly fewer operations by articulated bodies than by M(q) and its solution.

    The first takes 724 operations for each oblique joint. The second takes n^3 / 2 for the solution of n joints that hang on
    one; ten oblique joints in a row take 6200 and 6800, fifty 35000 and 133000.
    """
    if not all(drive.direct for drive in tree.sections.drives):
        return False  # driven joints tie distant bodies together: no such recursion
    by_matrix, by_recursion = operations(tree)
    return by_recursion * MATRIX_PREFERENCE < by_matrix


def operations(tree: Tree) -> tuple[float, float]:
    """Return upper bounds of the operations for v' by the mass matrix and by articulated bodies."""
    freedoms = tree.sections.freedoms
    carried, costs = [1] * len(freedoms), _costs(tree)
    for k in range(len(freedoms) - 1, -1, -1):
        if freedoms[k].before:
            carried[freedoms[k].before - 1] += carried[k]
    by_matrix = by_recursion = 0.0
    for section, cost, count in zip(freedoms, costs, carried, strict=True):
        if section.before:
            by_matrix += cost.fixed + cost.carried * count
            by_recursion += cost.articulated
        else:  # all sections that hang on one at the base are coupled
            by_matrix += count * (count * count - 1) / 2 + 2 * count * count
    return by_matrix, by_recursion


def _costs(tree: Tree) -> list[Cost]:
    freedoms, costs = tree.sections.freedoms, list[Cost]()
    for section in freedoms:
        before, flat = (freedoms[section.before - 1], costs[section.before - 1]) if section.before else (section, PARALLEL)
        in_plane = flat is PARALLEL and section.axis == before.axis and section.turns
        costs.append(OBLIQUE if _is_oblique(section) else PARALLEL if in_plane else RIGHT_ANGLED)
    return costs


def _is_oblique(section: Section) -> bool:
    return not np.array_equal(section.R, np.eye(3))


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
