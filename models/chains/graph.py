"""A tree or chain as a multiport field: an IC of its joint coordinates, joint ports, and the screw ports of its links.

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

from bondgraph import IC, J1, MTF, TF, Block, Element, Graph, Op, Parameter, R
from bondgraph.errors import Place, Problem, caller_place, raise_if_any, refusal
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION, Domain, motions
from bondgraph.model.element import PortRef
from bondgraph.model.model import Visible
from bondgraph.model.names import names_of
from bondgraph.model.units import quotient
from models.bodies import BODY_TWIST, Body, finished, upright, world_junction
from models.chains import limits as stops
from models.chains.checks import as_floats
from models.chains.costs import articulated_is_shorter, recursion_is_shorter
from models.chains.dynamics import bias, inertia_numbers, kinetic_energy, mass_matrix, massless, potential
from models.chains.inertias import Vector
from models.chains.kinematics import link_pose, link_pose_state, space_jacobian
from models.chains.recursion import forward_dynamics
from models.chains.trees import Tree
from screws.given import floats, real
from screws.scalars import array
from screws.surfaces import Surface

KINEMATICS, DYNAMICS = "Brockett 1984; Murray, Li and Sastry 1994", "Featherstone 2008"
"""Sources of the formulas of `kinematics` and `dynamics`."""

SINGULAR = 1e-13
"""Smallest eigenvalue up to which a mass matrix whose diagonal is scaled to 1 counts as singular."""

ELSEWHERE = 0.7
"""rad from the start: where else a mass matrix is tried, to tell a place from a mechanism."""


@dataclass(frozen=True, eq=False)
class LinkBody:
    """A link of a chain graph as a contact sees a body: its skin, its port and where its pose is."""

    name: str
    surface: Surface | None
    place: Place | None
    world: PortRef
    """Port that carries the link's twist T_0_0_k."""
    pose_path: str
    """Path of its pose signal (7,) in the graph around the chain."""
    frame_path: str
    """Path of its pose (4, 4): the other costs half angles and their products besides."""


@dataclass(frozen=True, eq=False)
class Linkage:
    """What a picture of a chain needs besides its coordinates: its links, and gravity (3,) in the world, m/s^2."""

    tree: Tree
    gravity: np.ndarray


class ChainGraph(Graph):
    """The graph of a chain. Signals `q`, `v` (n,); of every link with a port `<link>.pose`, `<link>.twist`, `<link>.H`."""

    def __init__(self, name: str, tree: Tree, ports: Sequence[str]):
        super().__init__(name)
        self.chain = tree
        self.link_ports = tuple(ports)

    def link(self, name: str, surface: Surface | None = None) -> LinkBody:
        """A link that has a port, for contacts; `surface` (in the link's frame) replaces that of the link.

        Raises `ModelError` E454 where no port was asked for.
        """
        if name not in self.link_ports:
            cure = f'chain_graph(tree, ports=("{name}", ...))'
            title = f'chain "{self.name}" has no port of a link "{name}"'
            why = f"ports: {', '.join(self.link_ports) or 'none'}"
            raise refusal("E454", title, cure, about=self.name, why=why, places=(self.place,))
        skin = surface or self.chain.links[self.chain.index(name)].surface
        path = f"{self.name}.{name}"
        return LinkBody(f"{self.name} {name}", skin, self.place, self.port(name), f"{path}.pose", f"{path}.H")


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
    """Tree or chain as a graph with the port `joints` (n efforts and velocities of the joints) and those that are asked for.

    Parameters
    ----------
    ports : links that get a screw port of their own name (twist T_0_0_k); others cost nothing.
    joint_ports : joint coordinates (`tree.coordinates`) that get a scalar port `joint <coordinate>`.
    form : "lagrangian" (states `mechanism.q`, `mechanism.v`) or "hamiltonian" (`mechanism.q`, `mechanism.p`).
    position, velocity : of the joints at the start (n,), rad or m; zero if not given.
    gravity : uniform acceleration in world coordinates, m/s^2.
    limits : what happens at a joint limit: "report" (an event), "end" (the run ends there), "stop" (a spring
        stop_stiffness * excess, and an event), "ignore".
    stop_stiffness, stop_dissipation : N m/rad or N/m, and the factor of the spring's force per velocity, s/rad or s/m
        (Hunt and Crossley 1975).
    nominal : typical size of the states, as for `IC`.

    Parameters of the graph: `mechanism.<link> mass` and every other number of `inertia_numbers`, `mechanism.gravity` (its size;
    the direction is fixed), `damping.resistance` (n,). Lengths and axes belong to the equations.

    Raises `ModelError` E450 for what is no tree; E454 for ports, start values or options that do not fit it, or a singular mass
    matrix; E538 for a freedom that moves no mass.
    """
    ports, joint_ports = names_of(ports, "ports"), names_of(joint_ports, "joint_ports")
    if not isinstance(tree, Tree):
        title = f"{tree!r} ({type(tree).__name__}) is no tree of links"
        raise refusal("E450", title, "Tree(name, links), Chain(name, links)", about=str(name or "chain"))
    label = name or tree.name
    n = tree.freedoms
    q0, v0 = (np.zeros(n) if given is None else as_floats(given) for given in (position, velocity))
    pull = as_floats(gravity)
    raise_if_any(label, _problems(tree, label, ports, joint_ports, limits, q0, v0, pull, stop_stiffness, stop_dissipation))
    graph = ChainGraph(label, tree, ports)
    joints = J1("joint velocities", dimension=n, domain=joint_domain(tree), symbols={"flow": r"\dot q"})
    limited = limits != "ignore" and bool(np.isfinite(tree.limits).any())
    stopped = limited and limits == "stop"
    stiffness = np.broadcast_to(np.asarray(stop_stiffness, dtype=float), n) if stopped else None
    graph.connect(joints, _mechanism(tree, form, q0, v0, pull, stiffness, nominal))
    if np.any(tree.damping):
        graph.connect(joints, R("damping", resistance=Parameter(tree.damping if n > 1 else tree.damping[0])))
    if stopped:
        graph.connect(joints, stops.dissipation(tree, stop_dissipation, quotient("1", joint_domain(tree).flow_unit)))
    if limited:
        stops.watch(graph, tree, ends=limits == "end")
    graph.expose("joints", joints)
    for coordinate in joint_ports:
        index = tree.coordinates.index(coordinate)
        domain = ROTATION if tree.turns[index] else TRANSLATION
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


def _mechanism(
    tree: Tree, form: str, q0: np.ndarray, v0: np.ndarray, gravity: np.ndarray, stiffness: np.ndarray | None, nominal: Any
) -> Element:
    """The IC; its formulas take the numbers of the inertias first, then gravity and the stops' stiffness, if there are any."""
    numbers = inertia_numbers(tree)
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
        position=q0,
        velocity=v0,
        parameters=parameters,
        nominal=nominal,
        dimension=tree.freedoms,
        domain=domain,
        symbols={"q": "q", "v": r"\dot q", "p": "p", **_letters(tree), "gravity": "g", "stop stiffness": r"K_{\mathrm{stop}}"},
    )


def _link_graph(tree: Tree, link: int) -> Body:
    """MTF J_k(q) to the link's world twist, and its pose and twist as signals."""
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
    world, letter = world_junction(name), upright(name)
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
    return finished(body, world, "pose.state", "pose.twist", "pose.H")


def _vector(q: Any) -> Any:
    """Joint coordinates (n,), also of a bond of dimension 1."""
    return q if np.ndim(q) else array([q])


def joint_domain(tree: Tree) -> Domain:
    """Domain of the joints' bond."""
    return motions(list(tree.turns))


def _letters(tree: Tree) -> dict[str, str]:
    """Of the numbers of the inertias: m, centre of mass c and moments of inertia I, of each link."""
    kinds, found = {"mass": "m", "centre": "c", "inertia": "I"}, {}
    for link in tree.links:
        for name in inertia_numbers(tree):
            kind, *entry = name.removeprefix(f"{link.name} ").split(" ")
            if name.startswith(f"{link.name} ") and kind in kinds and len(entry) < 2:
                found[name] = f"{kinds[kind]}_{{{','.join((*entry, upright(link.name)))}}}"
    return found


def _problems(
    tree: Tree,
    name: str,
    ports: Sequence[str],
    joint_ports: Sequence[str],
    limits: str,
    q0: np.ndarray,
    v0: np.ndarray,
    gravity: np.ndarray,
    stiffness: Any,
    dissipation: Any,
) -> list[Problem]:
    found: list[Problem] = []
    place = caller_place()

    def problem(title: str, detail: str, cure: str) -> None:
        found.append(Problem("E454", f'{type(tree).__name__.lower()} "{name}": {title}', (detail,), (place,), (cure,)))

    for what, asked, known in (
        ("link", ports, [link.name for link in tree.links]),
        ("joint coordinate", joint_ports, tree.coordinates),
    ):
        unknown = [str(x) for x in asked if x not in known]
        if unknown or len(set(asked)) < len(asked):
            title = f"no port can be given to {', '.join(unknown) or 'one ' + what + ' twice'}"
            problem(title, f"{what}s: {', '.join(known)}", "names of this list, each once")
    coordinates = f"coordinates: {', '.join(tree.coordinates)}"
    for what, values in (("position", q0), ("velocity", v0)):
        if values.shape != (tree.freedoms,) or not np.all(np.isfinite(values)):
            problem(f"the {what} {values.tolist()} does not fit", coordinates, f"{tree.freedoms} finite numbers")
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        problem(f"gravity is {gravity.tolist()}", "an acceleration in world coordinates, m/s^2", "three finite numbers")
    stops_push = floats(stiffness, (), (tree.freedoms,))
    if stops_push is None or not np.all(stops_push > 0.0):
        problem(f"stop_stiffness is {stiffness!r}", coordinates, "one positive number, or one for each coordinate")
    if not 0.0 <= real(dissipation) < np.inf:
        problem(f"stop_dissipation is {dissipation!r}", "what stops take per velocity, s/rad or s/m", "a number, not negative")
    if limits not in stops.WAYS:
        problem(f"limits {limits!r}", f"ways: {', '.join(stops.WAYS)}", "one of these words")
    return found or _of_masses(tree, name, q0, place)


def _of_masses(tree: Tree, name: str, q0: np.ndarray, place: Place | None) -> list[Problem]:
    """E538 for freedoms that move no mass, E454 where M is singular for another reason."""
    about = f'{type(tree).__name__.lower()} "{name}"'
    bare = massless(tree)
    if bare:
        title = about + ': no mass moves with "' + '", "'.join(bare) + '"'
        cure = "inertia for this link or one that it carries, or fixed() as its joint"
        return [Problem("E538", title, ("every force would accelerate it without end",), (place,), (cure,))]
    alike = _without_inertia(tree, q0)
    if not alike:
        return []
    details = ("freedoms that do the same, or move no mass: " + ", ".join(alike),)
    if _without_inertia(tree, q0 + ELSEWHERE * np.array(tree.turns)):
        cure = "mass on the outer links, and no two freedoms that do the same"
        return [Problem("E454", f"{about}: its mass matrix is singular", details, (place,), (cure,))]
    cures = (
        "another position=",
        "where the second angle of a free or spherical joint is 90 degrees: a base that is turned so, replace(tree, base=pose)",
    )
    return [Problem("E454", f"{about}: its mass matrix is singular where it starts", details, (place,), cures)]


def _without_inertia(tree: Tree, q: np.ndarray) -> list[str]:
    """Coordinates that take part in a motion without kinetic energy; none where M is positive definite."""
    M = np.asarray(mass_matrix(tree, q), dtype=float)
    sizes = np.sqrt(np.abs(np.diagonal(M)))
    if not np.all(sizes > 0.0):
        return [name for name, size in zip(tree.coordinates, sizes, strict=True) if not size > 0.0]
    values, vectors = np.linalg.eigh(M / np.outer(sizes, sizes))
    if values[0] > SINGULAR:
        return []
    share = np.abs(vectors[:, 0])
    return [name for name, part in zip(tree.coordinates, share, strict=True) if part > 1e-6]
