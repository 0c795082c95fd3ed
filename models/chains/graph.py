"""Graph of a tree or chain: a multiport IC of its joint coordinates, joint ports, and screw ports of its links.

```
 joint ports 1 --> TF --> 1 --> IC mechanism (M(q), h(q, v), V(q))
          (one row)    /| \\
                      R |  MTF J_k(q) --> 1 world twist of link k   (a port like that of a rigid body)
                damping |
                      joints  (the junction itself, n-dimensional)
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.bodies import BODY_TWIST, Body, complete_body, latex_name, world_junction
from screwbond.models.chains import limits as stops
from screwbond.models.chains.kinematics import link_pose, link_pose_state, space_jacobian
from screwbond.models.chains.links import Vector
from screwbond.models.chains.mechanism import ChainOptions, joint_domain, mechanism, problems_of
from screwbond.models.chains.trees import Tree, as_floats

from bondgraph import J1, MTF, TF, Block, Graph, Op, Parameter, R
from bondgraph.errors import Place, raise_if_any, refusal
from bondgraph.model.arguments import in_unit, in_units, names_of
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION
from bondgraph.model.element import PortRef
from bondgraph.model.model import Visible
from bondgraph.model.units import quotient
from screws.scalars import array
from screws.surfaces import Surface

KINEMATICS = "Brockett 1984; Murray, Li and Sastry 1994"
"""Source of the formulas of `kinematics`."""


@dataclass(frozen=True, eq=False)
class LinkBody:
    """A link of a chain graph as a body for contacts: surface, port and path of its pose."""

    name: str
    surface: Surface | None
    place: Place | None
    world: PortRef
    """Port that carries the link's twist T_0_0_k."""
    pose_path: str
    """Path of its pose signal (7,) in the graph around the chain."""
    frame_path: str
    """Path of its pose (4, 4), which costs less than `pose_path`: no half angles."""


@dataclass(frozen=True, eq=False)
class Linkage:
    """Tree and gravity (3,) in world axes, m/s^2, for pictures of a chain."""

    tree: Tree
    gravity: np.ndarray


class ChainGraph(Graph):
    """Graph of a chain. Signals `q`, `v` (n,); of every link with a port `<link>.pose`, `<link>.twist`, `<link>.H`."""

    def __init__(self, name: str, tree: Tree, ports: Sequence[str]):
        super().__init__(name)
        self.chain = tree
        self.link_ports = tuple(ports)

    def link(self, name: str, surface: Surface | None = None) -> LinkBody:
        """Return a link that has a port, for contacts; `surface` (in the link's frame) replaces that of the link.

        Raises `ModelError` E454 for a link without a port.
        """
        if name not in self.link_ports:
            cure = f'chain_graph(tree, ports=("{name}", ...))'
            title = f'chain "{self.name}" has no port of a link "{name}"'
            why = f"ports: {', '.join(self.link_ports) or 'none'}"
            raise refusal("E454", title, cure, about=self.name, why=why, places=(self.place,))
        skin = surface or self.chain.links[self.chain.index(name)].surface
        path = f"{self.name}.{name}"
        return LinkBody(f"{self.name} {name}", skin, self.place, self.port(name), f"{path}.pose", f"{path}.H")


@in_units(gravity="m/s^2")
def chain_graph(
    tree: Tree,
    name: str | None = None,
    *,
    ports: Sequence[str] = (),
    joint_ports: Sequence[str] = (),
    form: str = "lagrangian",
    position: Vector | None = None,
    velocity: Vector | None = None,
    gravity: Vector = (0.0, 0.0, 0.0),
    limits: str = "report",
    stop_stiffness: float | Vector = 1e3,
    stop_dissipation: float = 1.0,
    nominal: Any = None,
) -> ChainGraph:
    """Return a tree or chain as a graph with the port `joints` (n efforts and velocities) and the requested ports.

    Parameters
    ----------
    ports : links that get a screw port of their own name (twist T_0_0_k); others cost nothing.
    joint_ports : joint coordinates (`tree.coordinates`) that get a scalar port `joint <coordinate>`.
    form : "lagrangian" (states `mechanism.q`, `mechanism.v`) or "hamiltonian" (`mechanism.q`, `mechanism.p`).
    position, velocity : of the joints at the start (n,), rad or m; zero by default.
    gravity : uniform acceleration in world coordinates, m/s^2.
    limits : what happens at a joint limit: "report" (an event), "end" (the run ends there), "stop" (a spring
        stop_stiffness * excess, and an event), "ignore".
    stop_stiffness, stop_dissipation : N m/rad or N/m, and the factor of the spring's force per velocity, s/rad or s/m
        (Hunt and Crossley 1975).
    nominal : typical size of the states, as for `IC`.

    Parameters of the graph: `mechanism.<link> mass` and every other number of `inertia_numbers`, `mechanism.gravity` (its size;
    the direction is fixed), `damping.resistance` (n,). Lengths and axes belong to the equations.

    Raises `ModelError` E450 without a tree; E454 for ports, start values or options that do not fit it, or a singular mass
    matrix; E538 for a freedom that moves no mass.
    """
    ports, joint_ports = names_of(ports, "ports"), names_of(joint_ports, "joint_ports")
    if not isinstance(tree, Tree):
        title = f"{tree!r} ({type(tree).__name__}) is no tree of links"
        raise refusal("E450", title, "Tree(name, links), Chain(name, links)", about=str(name or "chain"))
    label = name or tree.name
    n = tree.freedoms
    if n:  # `problems_of` refuses a tree that does not move
        motion = joint_domain(tree)
        stiffness = quotient(motion.effort_unit, motion.displacement_unit)
        position = in_unit(label, "position", position, motion.displacement_unit)
        velocity = in_unit(label, "velocity", velocity, motion.flow_unit)
        stop_stiffness = in_unit(label, "stop_stiffness", stop_stiffness, stiffness)
        stop_dissipation = in_unit(label, "stop_dissipation", stop_dissipation, quotient("1", motion.flow_unit))
    q0, v0 = (np.zeros(n) if values is None else as_floats(values) for values in (position, velocity))
    pull = as_floats(gravity)
    options = ChainOptions(ports, joint_ports, form, q0, v0, pull, limits, stop_stiffness, stop_dissipation, nominal)
    raise_if_any(label, problems_of(tree, label, options))
    graph = ChainGraph(label, tree, ports)
    joints = J1("joint velocities", dimension=n, domain=joint_domain(tree), symbols={"flow": r"\dot q"})
    graph.connect(joints, mechanism(tree, options))
    if np.any(tree.damping):
        graph.connect(joints, R("damping", resistance=Parameter(tree.damping if n > 1 else tree.damping[0])))
    if options.stiffness(tree) is not None:
        graph.connect(joints, stops.dissipation(tree, stop_dissipation, quotient("1", joint_domain(tree).flow_unit)))
    if options.limited(tree):
        stops.add_limit_events(graph, tree, ends=limits == "end")
    graph.expose("joints", joints)
    for coordinate in joint_ports:
        index = tree.coordinates.index(coordinate)
        domain = ROTATION if tree.is_angle[index] else TRANSLATION
        row = TF(f"row of {coordinate}", np.eye(n)[index], structural=True, domains=(None, domain))
        joint = J1(f"joint {coordinate}", dimension=1, domain=domain)
        graph.connect(joint, row.port("2")).connect(row.port("1"), joints)
        graph.expose(f"joint {coordinate}", joint)
    for link in ports:
        body = _link_graph(tree, tree.index(link))
        graph.connect(joints, body.port("joints"))
        graph.wire("mechanism.q", body, "q")
        graph.expose(link, body.port("world"))
    graph.export("q", "mechanism.q")
    graph.export("v", "mechanism.v")
    graph.mark_visible(Visible("chain", {"q": "mechanism.q"}, Linkage(tree, pull)))
    return graph


def _link_graph(tree: Tree, link: int) -> Body:
    """Return the graph of a link: MTF J_k(q) to its world twist, and its pose and twist as signals."""
    name = tree.links[link].name
    body = Body(name, tree.links[link].surface).declare_input("q")
    assert isinstance(body, Body)
    jacobian = MTF(
        "J",
        Op("Jacobian", lambda q: space_jacobian(tree, link, _vector(q)), "J(#1)", KINEMATICS),
        signals=["q"],
        dimensions=(tree.freedoms, 6),
        domains=(joint_domain(tree), SCREW),
        frames=(None, "0"),
    )
    world, letter = world_junction(name), latex_name(name)
    poses = Block(
        "pose",
        [
            ("H", Op("pose", lambda q: link_pose(tree, link, _vector(q)), "H(#1)", KINEMATICS), ["q"]),
            ("state", Op("pose state", lambda q: link_pose_state(tree, link, _vector(q)), "H(#1)", KINEMATICS), ["q"]),
            ("twist", BODY_TWIST, ["H", "T"]),
        ],
        inputs={"q": "q", "T": "world twist.flow"},
        units={"H": "1, m", "state": "1, m", "twist": SCREW.flow_unit},
        symbols={"H": rf"H_{{{letter}}}^0", "state": rf"\bar H_{{{letter}}}^0", "twist": rf"T^{{{letter},0}}"},
    )
    body.connect(jacobian, world)
    body.add(poses)
    body.expose("joints", jacobian.port("1"))
    body.export("H", "pose.H")
    return complete_body(body, world, "pose.state", "pose.twist", "pose.H")


def _vector(q: Any) -> Any:
    """Return joint coordinates as (n,), also of a bond of dimension 1."""
    return q if np.ndim(q) else array([q])
