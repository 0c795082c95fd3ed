"""A serial chain as a multiport field: an IC of its joint coordinates, joint ports, and the screw ports of its links.

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
from bondgraph.model.names import names_of
from bondgraph.model.units import quotient
from models.bodies import BODY_TWIST, Body, finished, upright, world_junction
from models.chains import limits as stops
from models.chains.dynamics import bias, inertia_numbers, mass_matrix, potential, recursion_is_shorter
from models.chains.kinematics import link_pose, link_pose_state, space_jacobian
from models.chains.links import Chain, Vector, as_floats
from screws.given import floats
from screws.scalars import array
from screws.surfaces import Surface

KINEMATICS, DYNAMICS = "Brockett 1984; Murray, Li and Sastry 1994", "Featherstone 2008"
"""Sources of the formulas of `kinematics` and `dynamics`."""


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


class ChainGraph(Graph):
    """The graph of a chain. Signals `q`, `v` (n,); of every link with a port `<link>.pose`, `<link>.twist`, `<link>.H`."""

    def __init__(self, name: str, chain: Chain, ports: Sequence[str]):
        super().__init__(name)
        self.chain = chain
        self.link_ports = tuple(ports)

    def link(self, name: str, surface: Surface | None = None) -> LinkBody:
        """A link that has a port, for contacts; `surface` (in the link's frame) replaces that of the link.

        Raises `ModelError` E454 where no port was asked for.
        """
        if name not in self.link_ports:
            cure = f'chain_graph(chain, ports=("{name}", ...))'
            title = f'chain "{self.name}" has no port of a link "{name}"'
            why = f"ports: {', '.join(self.link_ports) or 'none'}"
            raise refusal("E454", title, cure, about=self.name, why=why, places=(self.place,))
        skin = surface or self.chain.links[self.chain.index(name)].surface
        path = f"{self.name}.{name}"
        return LinkBody(f"{self.name} {name}", skin, self.place, self.port(name), f"{path}.pose", f"{path}.H")


def chain_graph(
    chain: Chain,
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
    """Chain as a graph with the port `joints` (n efforts and velocities of the joints) and those that are asked for.

    Parameters
    ----------
    ports : links that get a screw port of their own name (twist T_0_0_k); others cost nothing.
    joint_ports : joint coordinates (`chain.coordinates`) that get a scalar port `joint <coordinate>`.
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

    Raises `ModelError` E454 for ports, start values or options that do not fit the chain, or a freedom without inertia.
    """
    ports, joint_ports = names_of(ports, "ports"), names_of(joint_ports, "joint_ports")
    if not isinstance(chain, Chain):
        title = f"{chain!r} ({type(chain).__name__}) is no chain"
        raise refusal("E450", title, "Chain(name, links)", about=str(name or "chain"))
    label = name or chain.name
    n = chain.freedoms
    q0, v0 = (np.zeros(n) if given is None else as_floats(given) for given in (position, velocity))
    pull = as_floats(gravity)
    raise_if_any(label, _problems(chain, label, ports, joint_ports, limits, q0, v0, pull, stop_stiffness))
    graph = ChainGraph(label, chain, ports)
    joints = J1("joint velocities", dimension=n, domain=joint_domain(chain), symbols={"flow": r"\dot q"})
    limited = limits != "ignore" and bool(np.isfinite(chain.limits).any())
    stopped = limited and limits == "stop"
    stiffness = np.broadcast_to(np.asarray(stop_stiffness, dtype=float), n) if stopped else None
    graph.connect(joints, _mechanism(chain, form, q0, v0, pull, stiffness, nominal))
    if np.any(chain.damping):
        graph.connect(joints, R("damping", resistance=Parameter(chain.damping if n > 1 else chain.damping[0])))
    if stopped:
        graph.connect(joints, stops.dissipation(chain, stop_dissipation, quotient("1", joint_domain(chain).flow_unit)))
    if limited:
        stops.watch(graph, chain, ends=limits == "end")
    graph.expose("joints", joints)
    for coordinate in joint_ports:
        index = chain.coordinates.index(coordinate)
        domain = ROTATION if chain.sections.freedoms[index].turns else TRANSLATION
        row = TF(f"row of {coordinate}", np.eye(n)[index], structural=True, domains=(None, domain))
        joint = J1(f"joint {coordinate}", dimension=1, domain=domain)
        graph.connect(joint, row.port("2")).connect(row.port("1"), joints)
        graph.expose(f"joint {coordinate}", joint)
    for link in ports:
        body = _link_graph(chain, chain.index(link))
        graph.connect(joints, body.port("joints"))
        graph.wire("mechanism.q", body, "q")
        graph.expose(link, body.port("world"))
    graph.export("q", "mechanism.q")
    graph.export("v", "mechanism.v")
    return graph


def _mechanism(
    chain: Chain, form: str, q0: np.ndarray, v0: np.ndarray, gravity: np.ndarray, stiffness: np.ndarray | None, nominal: Any
) -> Element:
    """The IC; its formulas take the numbers of the inertias first, then gravity and the stops' stiffness, if there are any."""
    numbers = inertia_numbers(chain)
    count, domain = len(numbers), joint_domain(chain)
    parameters = {name: Parameter(value, unit) for name, (value, unit) in numbers.items()}
    size = float(np.linalg.norm(gravity))
    direction = gravity / size if size else gravity
    if size:
        parameters["gravity"] = Parameter(size, "m/s^2")
    if stiffness is not None:
        parameters["stop stiffness"] = Parameter(stiffness, quotient(domain.effort_unit, domain.displacement_unit))

    def energy(q: Any, *p: Any) -> Any:
        total: Any = potential(chain, direction * p[count], q, *p[:count]) if size else 0.0
        return total + stops.energy(chain, q, p[-1]) if stiffness is not None else total

    recursive = form == "lagrangian" and recursion_is_shorter(chain)
    return IC(
        "mechanism",
        inertia=Op("M", lambda q, *p: mass_matrix(chain, q, *p[:count]), "M(#1)", DYNAMICS),
        bias=Op("h", lambda q, v, *p: bias(chain, q, v, *p[:count]), "h(#1, #2)", DYNAMICS) if recursive else None,
        potential=Op("V", energy, "V(#1)") if size or stiffness is not None else None,
        form=form,
        position=q0,
        velocity=v0,
        parameters=parameters,
        nominal=nominal,
        dimension=chain.freedoms,
        domain=domain,
        symbols={"q": "q", "v": r"\dot q", "p": "p", **_letters(chain), "gravity": "g", "stop stiffness": r"K_{\mathrm{stop}}"},
    )


def _link_graph(chain: Chain, link: int) -> Body:
    """MTF J_k(q) to the link's world twist, and its pose and twist as signals."""
    name = chain.links[link].name
    body = Body(name, chain.links[link].surface).declare_input("q")
    assert isinstance(body, Body)
    jacobian = MTF(
        "J",
        Op("Jacobian", lambda q: space_jacobian(chain, link, _vector(q)), "J(#1)", KINEMATICS),
        signals=["q"],
        dimensions=(chain.freedoms, 6),
        domains=(joint_domain(chain), SCREW),
        frames=(None, "0"),
    )
    world, letter = world_junction(name), upright(name)
    poses = Block(
        "pose",
        [
            ("H", Op("pose", lambda q: link_pose(chain, link, _vector(q)), "H(#1)", KINEMATICS), ["q"]),
            ("state", Op("pose state", lambda q: link_pose_state(chain, link, _vector(q)), "H(#1)", KINEMATICS), ["q"]),
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
    return finished(body, world, "pose.state", "pose.twist")


def _vector(q: Any) -> Any:
    """Joint coordinates (n,), also of a bond of dimension 1."""
    return q if np.ndim(q) else array([q])


def joint_domain(chain: Chain) -> Domain:
    """Domain of the joints' bond."""
    return motions([section.turns for section in chain.sections.freedoms])


def _letters(chain: Chain) -> dict[str, str]:
    """Of the numbers of the inertias: m, centre of mass c and moments of inertia I, of each link."""
    kinds, found = {"mass": "m", "centre": "c", "inertia": "I"}, {}
    for link in chain.links:
        for name in inertia_numbers(chain):
            kind, *entry = name.removeprefix(f"{link.name} ").split(" ")
            if name.startswith(f"{link.name} ") and kind in kinds and len(entry) < 2:
                found[name] = f"{kinds[kind]}_{{{','.join((*entry, upright(link.name)))}}}"
    return found


def _problems(
    chain: Chain,
    name: str,
    ports: Sequence[str],
    joint_ports: Sequence[str],
    limits: str,
    q0: np.ndarray,
    v0: np.ndarray,
    gravity: np.ndarray,
    stiffness: Any,
) -> list[Problem]:
    found: list[Problem] = []
    place = caller_place()

    def problem(title: str, detail: str, cure: str) -> None:
        found.append(Problem("E454", f'chain "{name}": {title}', (detail,), (place,), (cure,)))

    for what, asked, known in (
        ("link", ports, [link.name for link in chain.links]),
        ("joint coordinate", joint_ports, chain.coordinates),
    ):
        unknown = [str(x) for x in asked if x not in known]
        if unknown or len(set(asked)) < len(asked):
            title = f"no port can be given to {', '.join(unknown) or 'one ' + what + ' twice'}"
            problem(title, f"{what}s: {', '.join(known)}", "names of this list, each once")
    coordinates = f"coordinates: {', '.join(chain.coordinates)}"
    for what, values in (("position", q0), ("velocity", v0)):
        if values.shape != (chain.freedoms,) or not np.all(np.isfinite(values)):
            problem(f"the {what} {values.tolist()} does not fit", coordinates, f"{chain.freedoms} finite numbers")
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        problem(f"gravity is {gravity.tolist()}", "an acceleration in world coordinates, m/s^2", "three finite numbers")
    stops_push = floats(stiffness, (), (chain.freedoms,))
    if stops_push is None or not np.all(stops_push > 0.0):
        problem(f"stop_stiffness is {stiffness!r}", coordinates, "one positive number, or one for each coordinate")
    if limits not in stops.WAYS:
        problem(f"limits {limits!r}", f"ways: {', '.join(stops.WAYS)}", "one of these words")
    if not found:
        M = np.asarray(mass_matrix(chain, q0), dtype=float)
        if np.linalg.eigvalsh(M)[0] <= 1e-14 * np.trace(M):
            cure = "mass on the outer links, and no two freedoms that do the same"
            problem("its mass matrix is singular", f"diagonal at the start: {np.diagonal(M).tolist()}", cure)
    return found
