"""Options of a chain's graph and their checks: ports, limits, start values, a singular mass matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.chains import limits as stops
from screwbond.models.chains.dynamics import mass_matrix, mass_problems
from screwbond.models.chains.trees import Tree

from bondgraph.errors import Place, Problem, caller_place
from screws.numeric_arguments import floats, real

SINGULAR = 1e-13
"""Smallest eigenvalue up to which a mass matrix whose diagonal is scaled to 1 counts as singular."""

TRIAL_OFFSET = 0.7
"""Offset from the start, rad, of a second mass matrix: a singular mechanism is singular there too, a singular posture is not."""


@dataclass(frozen=True, eq=False)
class ChainOptions:
    """Arguments of `chain_graph` besides its tree; vectors as floats."""

    ports: tuple[str, ...]
    joint_ports: tuple[str, ...]
    form: str
    position: np.ndarray
    velocity: np.ndarray
    gravity: np.ndarray
    limits: str
    stop_stiffness: Any
    stop_dissipation: Any
    nominal: Any

    def limited(self, tree: Tree) -> bool:
        """Return True if some joint has limits that are not ignored."""
        return self.limits != "ignore" and bool(np.isfinite(tree.limits).any())

    def stiffness(self, tree: Tree) -> np.ndarray | None:
        """Return the stiffness of the stops (n,); None without stops."""
        if not self.limited(tree) or self.limits != "stop":
            return None
        return np.broadcast_to(np.asarray(self.stop_stiffness, dtype=float), tree.freedoms)


def problems_of(tree: Tree, name: str, options: ChainOptions) -> list[Problem]:
    """Return E454 for each argument that does not fit, or for a singular mass matrix, or E538 for a freedom that moves no
    mass."""
    problems: list[Problem] = []
    place = caller_place()

    def problem(title: str, detail: str, cure: str) -> None:
        problems.append(Problem("E454", f'{type(tree).__name__.lower()} "{name}": {title}', (detail,), (place,), (cure,)))

    for what, requested, allowed in (
        ("link", options.ports, [link.name for link in tree.links]),
        ("joint coordinate", options.joint_ports, tree.coordinates),
    ):
        unknown = [str(x) for x in requested if x not in allowed]
        if unknown or len(set(requested)) < len(requested):
            title = f"no port can be given to {', '.join(unknown) or 'one ' + what + ' twice'}"
            problem(title, f"{what}s: {', '.join(allowed)}", "names of this list, each once")
    coordinates = f"coordinates: {', '.join(tree.coordinates)}"
    for what, values in (("position", options.position), ("velocity", options.velocity)):
        if values.shape != (tree.freedoms,) or not np.all(np.isfinite(values)):
            problem(f"the {what} {values.tolist()} does not fit", coordinates, f"{tree.freedoms} finite numbers")
    gravity = options.gravity
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        problem(f"gravity is {gravity.tolist()}", "an acceleration in world coordinates, m/s^2", "three finite numbers")
    stops_push = floats(options.stop_stiffness, (), (tree.freedoms,))
    if stops_push is None or not np.all(stops_push > 0.0):
        problem(f"stop_stiffness is {options.stop_stiffness!r}", coordinates, "one positive number, or one for each coordinate")
    if not 0.0 <= real(options.stop_dissipation) < np.inf:
        detail = "what stops take per velocity, s/rad or s/m"
        problem(f"stop_dissipation is {options.stop_dissipation!r}", detail, "a number, not negative")
    if options.limits not in stops.LIMIT_ACTIONS:
        problem(f"limits {options.limits!r}", f"ways: {', '.join(stops.LIMIT_ACTIONS)}", "one of these words")
    return problems or _mass_problems(tree, name, options.position, place)


def _mass_problems(tree: Tree, name: str, q0: np.ndarray, place: Place | None) -> list[Problem]:
    """Return E450 without freedoms, E538 and E526 of `mass_problems`, E454 where M is singular for another reason."""
    about = f'{type(tree).__name__.lower()} "{name}"'
    if not tree.freedoms:
        title, cure = about + ": nothing can move", "a tree with joints; of a URDF: read_urdf(..., floating=True)"
        return [Problem("E450", title, (f"{len(tree.links)} links, no freedom",), (place,), (cure,))]
    problems = mass_problems(tree, name)
    if problems:
        return problems
    dependent = _without_inertia(tree, q0)
    if not dependent:
        return []
    details = ("freedoms that do the same, or move no mass: " + ", ".join(dependent),)
    if _without_inertia(tree, q0 + TRIAL_OFFSET * np.array(tree.is_angle)):
        cure = "mass on the outer links, and no two freedoms that do the same"
        return [Problem("E454", f"{about}: its mass matrix is singular", details, (place,), (cure,))]
    cures = (
        "another position=",
        "where the second angle of a free or spherical joint is 90 degrees: a base that is turned so, replace(tree, base=pose)",
    )
    return [Problem("E454", f"{about}: its mass matrix is singular where it starts", details, (place,), cures)]


def _without_inertia(tree: Tree, q: np.ndarray) -> list[str]:
    """Return the coordinates that take part in a motion without kinetic energy; none where M is positive definite."""
    M = np.asarray(mass_matrix(tree, q), dtype=float)
    sizes = np.sqrt(np.abs(np.diagonal(M)))
    if not np.all(sizes > 0.0):
        return [name for name, size in zip(tree.coordinates, sizes, strict=True) if not size > 0.0]
    values, vectors = np.linalg.eigh(M / np.outer(sizes, sizes))
    if values[0] > SINGULAR:
        return []
    share = np.abs(vectors[:, 0])
    return [name for name, part in zip(tree.coordinates, share, strict=True) if part > 1e-6]
