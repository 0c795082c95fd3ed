"""Signal blocks of a tree for controllers: inverse dynamics, and the geometric Jacobian of a link."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.chains.dynamics import inverse_dynamics
from screwbond.models.chains.graph import DYNAMICS, KINEMATICS, joint_domain, vector
from screwbond.models.chains.kinematics import jacobian
from screwbond.models.chains.links import Vector
from screwbond.models.chains.trees import Tree

from bondgraph import Block, Element, Op
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_units
from screws.numeric_arguments import floats


@in_units(gravity="m/s^2")
def inverse_dynamics_block(
    name: str, tree: Tree, position: str, velocity: str, acceleration: str, *, gravity: Vector = (0.0, 0.0, 0.0)
) -> Element:
    """Return a block whose `<name>.effort` (n,) is `inverse_dynamics` at q, v and the desired v', each (n,), given by paths.

    With v' = r'' + kd (r' - v) + kp (r - q) it is computed-torque control (Luh, Walker and Paul 1980). The block uses the
    parameters of `tree`, which may be a nominal model that differs from the plant.

    Raises `ModelError` E338 for invalid gravity.
    """
    pull = floats(gravity, (3,))
    if pull is None:
        raise refusal("E338", f'gravity of "{name}" is {gravity!r}', "three finite numbers, m/s^2", about=name)

    def efforts(q: Any, v: Any, a: Any) -> Any:
        tau = inverse_dynamics(tree, vector(q), vector(v), vector(a), pull)
        return tau if np.ndim(q) else tau[0]

    law = Op("inverse dynamics", efforts, "M(#1)\\,#3 + h(#1, #2) + g(#1)", DYNAMICS)
    paths = {"q": position, "v": velocity, "a": acceleration}
    units = {"effort": joint_domain(tree).effort_unit}
    return Block(name, [("effort", law, ["q", "v", "a"])], inputs=paths, units=units, symbols={"effort": r"\tau"})


@in_units(at="m")
def jacobian_block(
    name: str, tree: Tree, link: str, position: str, *, axes: str = "world", at: Vector = (0.0, 0.0, 0.0)
) -> Element:
    """Return a block whose `<name>.J` (6, n) is the `jacobian` of a point of a link, with the arguments of that function, at the
    path of q (n,)."""
    jacobian(tree, link, np.zeros(tree.freedoms), axes, at)  # refuses invalid arguments at the user's line
    law = Op("Jacobian", lambda q: jacobian(tree, link, vector(q), axes, at), "J(#1)", KINEMATICS)
    return Block(name, [("J", law, ["q"])], inputs={"q": position})
