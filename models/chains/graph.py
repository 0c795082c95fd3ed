"""Graph of a tree or chain: joint ports, screw ports of links, and a multiport IC of the joint coordinates, whose functions need
few operations.

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
from screwbond.models.chains.dynamics import (
    bias,
    forward_dynamics,
    inertia_numbers,
    kinetic_energy,
    mass_matrix,
    mass_problems,
    potential,
)
from screwbond.models.chains.kinematics import link_pose, link_pose_state, space_jacobian
from screwbond.models.chains.links import Vector
from screwbond.models.chains.trees import Section, Tree, as_floats

from bondgraph import IC, J1, MTF, TF, Block, Element, Graph, Op, Parameter, R
from bondgraph.errors import Place, Problem, caller_place, raise_if_any, refusal
from bondgraph.model.arguments import in_unit, in_units, names_of, numbers_in_unit
from bondgraph.model.domains import ROTATION, SCREW, TRANSLATION, Domain, motions
from bondgraph.model.element import PortRef
from bondgraph.model.model import Visible
from bondgraph.model.units import quotient
from screws.errors import plural
from screws.numeric_arguments import floats, real
from screws.scalars import array
from screws.surfaces import Surface

SINGULAR = 1e-13
"""A mass matrix whose diagonal is scaled to 1 counts as singular if its smallest eigenvalue is not larger."""

TRIAL_OFFSET = 0.7
"""Offset, rad, from the start to a second posture: if the mass matrix is singular there too, it counts as singular everywhere."""


@dataclass(frozen=True, eq=False)
class ChainOptions:
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
        return self.limits != "ignore" and bool(np.isfinite(tree.limits).any())

    def stiffness(self, tree: Tree) -> np.ndarray | None:
        if not self.limited(tree) or self.limits != "stop":
            return None
        return np.broadcast_to(np.asarray(self.stop_stiffness, dtype=float), tree.freedoms)


def _listed(values: np.ndarray) -> str:
    return str(values.tolist()) if np.isfinite(values).any() or values.ndim else "not a list of numbers"


def problems_of(tree: Tree, name: str, options: ChainOptions) -> list[Problem]:
    """Return E454 for each invalid argument or, if all are valid, E450, E526, E538 or E454 for freedoms and masses."""
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
            title = f"unknown {what} for a port: {', '.join(unknown)}" if unknown else f"a {what} is listed twice among the ports"
            problem(title, f"{what}s: {', '.join(allowed)}", "names from this list, each once")
    coordinates = f"coordinates: {', '.join(tree.coordinates)}"
    for what, values in (("position", options.position), ("velocity", options.velocity)):
        if values.shape != (tree.freedoms,) or not np.all(np.isfinite(values)):
            problem(f"the {what} is {_listed(values)}", coordinates, plural(tree.freedoms, "finite number"))
    gravity = options.gravity
    if gravity.shape != (3,) or not np.all(np.isfinite(gravity)):
        problem(f"gravity is {_listed(gravity)}", "an acceleration in world coordinates, m/s^2", "three finite numbers")
    stops_push = floats(options.stop_stiffness, (), (tree.freedoms,))
    if stops_push is None or not np.all(stops_push > 0.0):
        problem(f"stop_stiffness is {options.stop_stiffness!r}", coordinates, "one positive number, or one for each coordinate")
    if not 0.0 <= real(options.stop_dissipation) < np.inf:
        detail = "factor of the stops' force per velocity, s/rad or s/m"
        problem(f"stop_dissipation is {options.stop_dissipation!r}", detail, "a non-negative number")
    if options.limits not in stops.LIMIT_ACTIONS:
        problem(f"limits={options.limits!r} is unknown", f"actions: {', '.join(stops.LIMIT_ACTIONS)}", "one of these actions")
    return problems or _mass_problems(tree, name, options.position, place)


def _mass_problems(tree: Tree, name: str, q0: np.ndarray, place: Place | None) -> list[Problem]:
    about = f'{type(tree).__name__.lower()} "{name}"'
    if not tree.freedoms:
        title, cure = about + ": nothing can move", "a tree with joints; for a URDF: read_urdf(..., floating=True)"
        return [Problem("E450", title, (f"{plural(len(tree.links), 'link')}, no degrees of freedom",), (place,), (cure,))]
    problems = mass_problems(tree, name)
    if problems:
        return problems
    dependent = _without_inertia(tree, q0)
    if not dependent:
        return []
    details = ("dependent freedoms, or freedoms that move no mass: " + ", ".join(dependent),)
    if _without_inertia(tree, q0 + TRIAL_OFFSET * np.array(tree.is_angle)):
        cure = "mass on the outer links, and independent freedoms"
        return [Problem("E454", f"{about}: its mass matrix is singular", details, (place,), (cure,))]
    cures = (
        "another position=",
        "if the second angle of a free or spherical joint is 90 degrees: rotate the base, replace(tree, base=pose)",
    )
    return [Problem("E454", f"{about}: its mass matrix is singular at the start position", details, (place,), cures)]


def _without_inertia(tree: Tree, q: np.ndarray) -> list[str]:
    """Return the coordinates that take part in a motion without kinetic energy, none if M is positive definite."""
    M = np.asarray(mass_matrix(tree, q), dtype=float)
    sizes = np.sqrt(np.abs(np.diagonal(M)))
    if not np.all(sizes > 0.0):
        return [name for name, size in zip(tree.coordinates, sizes, strict=True) if not size > 0.0]
    values, vectors = np.linalg.eigh(M / np.outer(sizes, sizes))
    if values[0] > SINGULAR:
        return []
    share = np.abs(vectors[:, 0])
    return [name for name, part in zip(tree.coordinates, share, strict=True) if part > 1e-6]


MATRIX_PREFERENCE = 1.25
"""Ratio of the costs of mass matrix and recursion up to which the mass matrix is preferred, as its equations are explicit."""


@dataclass(frozen=True)
class Cost:
    fixed: float
    carried: float
    """Operations of the mass matrix to transform one momentum, of the section or one that it carries, to the preceding frame."""
    articulated: float


PARALLEL, RIGHT_ANGLED, OBLIQUE = Cost(67, 9, 105), Cost(162, 17, 307), Cost(470, 45, 724)
"""Costs of a section in three cases: in a planar mechanism, with axes along the axes of the preceding frame, and with any
other axes. Each cost is that of a further joint in a row, to within 3 %."""


def recursion_is_shorter(tree: Tree) -> bool:
    """Return True if h(q, v) takes fewer operations by recursion than by differentiation of M(q), as a rule of thumb.

    The cost of the recursion grows with the number of joints in a row, the cost of the derivatives with the square of this number
    or faster. Differentiation is cheaper up to four joints with parallel and right-angled axes (v' of a hand's finger: 310
    operations, 400 by recursion), and up to three with oblique axes (M and h: 720 and 750; 7300 and 3200 for seven joints).
    """
    freedoms = tree.sections.freedoms
    longest = max(len(tree.sections.path(k + 1)) for k in range(len(freedoms)))
    return longest > (3 if any(_is_oblique(section) for section in freedoms) else 4)


def articulated_is_shorter(tree: Tree) -> bool:
    if not all(drive.direct for drive in tree.sections.drives):
        return False  # driven joints couple distant bodies: no such recursion
    by_matrix, by_recursion = operations(tree)
    return by_recursion * MATRIX_PREFERENCE < by_matrix


def operations(tree: Tree) -> tuple[float, float]:
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
        else:  # all sections carried by the same section on the base are coupled
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


SPRINGS = {"joint stiffness": "K", "stop stiffness": r"K_{\mathrm{stop}}"}

DYNAMICS = "Featherstone 2008"


def mechanism(tree: Tree, options: ChainOptions) -> Element:
    numbers, form, gravity, stiffness = inertia_numbers(tree), options.form, options.gravity, options.stiffness(tree)
    count, domain = len(numbers), joint_domain(tree)
    parameters = {name: Parameter(value, unit) for name, (value, unit) in numbers.items()}
    size = float(np.linalg.norm(gravity))
    direction = gravity / size if size else gravity
    if size:
        parameters["gravity"] = Parameter(size, "m/s^2")
    springs, rest = tree.springs
    if np.any(springs):
        parameters["joint stiffness"] = Parameter(springs, quotient(domain.effort_unit, domain.displacement_unit))
    spring = count + bool(size)
    if stiffness is not None:
        parameters["stop stiffness"] = Parameter(stiffness, quotient(domain.effort_unit, domain.displacement_unit))

    def energy(q: Any, *p: Any) -> Any:
        total: Any = potential(tree, direction * p[count], q, *p[:count]) if size else 0.0
        total = total + stops.spring_energy(q, p[spring], rest) if np.any(springs) else total
        return total + stops.energy(tree, q, p[-1]) if stiffness is not None else total

    def acceleration(q: Any, v: Any, effort: Any, *p: Any) -> Any:
        free = effort - stops.force(tree, q, p[-1]) if stiffness is not None else effort
        free = free - stops.spring_force(q, p[spring], rest) if np.any(springs) else free
        return forward_dynamics(tree, q, v, free, direction * p[count] if size else gravity, *p[:count])

    formulas: dict[str, Any] = {"inertia": Op("M", lambda q, *p: mass_matrix(tree, q, *p[:count]), "M(#1)", DYNAMICS)}
    if form == "lagrangian" and articulated_is_shorter(tree):
        formulas["kinetic"] = Op("T", lambda q, v, *p: kinetic_energy(tree, q, v, *p[:count]), "T(#1, #2)", DYNAMICS)
        formulas["acceleration"] = Op("v'", acceleration, r"\dot v(#1, #2, #3)", DYNAMICS)
    elif form == "lagrangian" and recursion_is_shorter(tree):
        formulas["bias"] = Op("h", lambda q, v, *p: bias(tree, q, v, *p[:count]), "h(#1, #2)", DYNAMICS)
    letters = {"q": "q", "v": r"\dot q", "p": "p", **_letters(tree), "gravity": "g", **SPRINGS}
    quantities = {"q", "v", *parameters} | ({"p"} if form == "hamiltonian" else set())
    return IC(
        "mechanism",
        **formulas,
        potential=Op("V", energy, "V(#1)") if size or stiffness is not None or np.any(springs) else None,
        form=form,
        position=options.position,
        velocity=options.velocity,
        parameters=parameters,
        nominal=options.nominal,
        dimension=tree.freedoms,
        domain=domain,
        symbols={name: letter for name, letter in letters.items() if name in quantities},
    )


def joint_domain(tree: Tree) -> Domain:
    return motions(list(tree.is_angle))


def _letters(tree: Tree) -> dict[str, str]:
    kinds, letters = {"mass": "m", "centre": "c", "inertia": "I", "armature": "a"}, {}
    for link in tree.links:
        for name in inertia_numbers(tree):
            kind, *entry = name.removeprefix(f"{link.name} ").split(" ")
            if name.startswith(f"{link.name} ") and kind in kinds and len(entry) < 2:
                letters[name] = f"{kinds[kind]}_{{{','.join((*entry, latex_name(link.name)))}}}"
    return letters


KINEMATICS = "Brockett 1984; Murray, Li and Sastry 1994"


@dataclass(frozen=True, eq=False)
class LinkBody:
    """Link of a chain graph as a body for contacts."""

    name: str
    surface: Surface | None
    place: Place | None
    world: PortRef
    pose_path: str
    frame_path: str
    """Path of the link's pose (4, 4), which is cheaper to compute than the pose (7,), as it needs no half angles."""


@dataclass(frozen=True, eq=False)
class Linkage:
    tree: Tree
    gravity: np.ndarray


class ChainGraph(Graph):
    """Graph of a chain. Signals: `q`, `v` (n,); for every link with a port, `<link>.pose`, `<link>.twist`, `<link>.H`."""

    def __init__(self, name: str, tree: Tree, ports: Sequence[str]):
        super().__init__(name)
        self.chain = tree
        self.link_ports = tuple(ports)

    def port(self, name: str) -> PortRef:
        """Return a port. Raises `ModelError` E454 for a joint or link without a port."""
        joint = name.removeprefix("joint ")
        cures = [f'port("joint {joint}"), with joint_ports=["{joint}"] of chain_graph'] if joint in self.chain.coordinates else []
        cures += (
            [f'ports=["{name}"] of chain_graph, for the screw port of the link']
            if any(name == link.name for link in self.chain.links)
            else []
        )
        if name in self.ports or not cures:
            return super().port(name)
        title, why = f'chain "{self.name}" has no port "{name}"', f"ports: {', '.join(self.ports)}"
        raise refusal("E454", title, *cures, about=self.name, why=why)

    def link(self, name: str, surface: Surface | None = None) -> LinkBody:
        """Return a link that has a port, for contacts; `surface` (in the link's frame) replaces the link's own.

        Raises `ModelError` E454 for an unknown link or a link without a port.
        """
        index = self.chain.index(name)
        if name not in self.link_ports:
            cure = f'chain_graph(tree, ports=("{name}", ...))'
            title = f'chain "{self.name}" has no port for a link "{name}"'
            why = f"ports: {', '.join(self.link_ports) or 'none'}"
            raise refusal("E454", title, cure, about=self.name, why=why, places=(self.place,))
        link_surface = surface or self.chain.links[index].surface
        path = f"{self.name}.{name}"
        return LinkBody(f"{self.name} {name}", link_surface, self.place, self.port(name), f"{path}.pose", f"{path}.H")


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
    name : name of the graph, by default the tree's.
    ports : links that get a screw port of their own name (twist T_0_0_k); all other links cost nothing.
    joint_ports : joint coordinates (`tree.coordinates`) that get a scalar port `joint <coordinate>`.
    form : "lagrangian" (states `mechanism.q`, `mechanism.v`) or "hamiltonian" (`mechanism.q`, `mechanism.p`).
    position, velocity : start values (n,) of the joints, rad or m and rad/s or m/s; zero by default.
    gravity : uniform acceleration in world coordinates, m/s^2.
    limits : action at a joint limit: "report" (an event), "end" (the run ends there), "stop" (a spring
        stop_stiffness * excess, and an event), "ignore".
    stop_stiffness, stop_dissipation : N m/rad or N/m, and the factor of the spring's force per velocity, s/rad or s/m
        (Hunt and Crossley 1975).
    nominal : typical size of the states, as for `IC`.

    Parameters of the graph: `mechanism.<link> mass` and every other parameter of `inertia_numbers`, `mechanism.gravity` (its
    magnitude; the direction is fixed), `mechanism.joint stiffness` and `mechanism.stop stiffness` (n,), `damping.resistance`
    (n,). Lengths and axes belong to the equations.

    Raises `ModelError` E450 without a tree or freedoms; E339 for a `position` beyond limits that are not ignored; E454 for ports,
    start values or options incompatible with the tree, or a singular mass matrix; E526 and E538 as for `mass_matrix`; E135 for an
    unknown form.
    """
    ports, joint_ports = names_of(ports, "ports"), names_of(joint_ports, "joint_ports")
    if not isinstance(tree, Tree):
        title = f"{tree!r} ({type(tree).__name__}) is not a tree of links"
        cure = "robot.tree" if isinstance(getattr(tree, "tree", None), Tree) else "Tree(name, links), Chain(name, links)"
        raise refusal("E450", title, cure, about=str(name or "chain"))
    label = name or tree.name
    n = tree.freedoms
    if n:  # `problems_of` refuses a tree that does not move
        motion = joint_domain(tree)
        stiffness = quotient(motion.effort_unit, motion.displacement_unit)
        position = numbers_in_unit(label, "position", position, motion.displacement_unit)
        velocity = numbers_in_unit(label, "velocity", velocity, motion.flow_unit)
        stop_stiffness = in_unit(label, "stop_stiffness", stop_stiffness, stiffness)
        stop_dissipation = in_unit(label, "stop_dissipation", stop_dissipation, quotient("1", motion.flow_unit))
    q0, v0 = (np.zeros(n) if values is None else as_floats(values) for values in (position, velocity))
    pull = as_floats(gravity)
    options = ChainOptions(ports, joint_ports, form, q0, v0, pull, limits, stop_stiffness, stop_dissipation, nominal)
    raise_if_any(label, problems_of(tree, label, options))
    if position is not None and limits != "ignore" and (beyond := stops.beyond_limits(tree, q0)):
        title = f'"{label}" starts beyond the limits of {", ".join(beyond[:6])}'
        raise refusal("E339", title, "position=np.clip(q, *tree.limits.T)", 'limits="ignore"', about=label)
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
    name = tree.links[link].name
    body = Body(name, tree.links[link].surface).declare_input("q")
    assert isinstance(body, Body)
    jacobian = MTF(
        "J",
        Op("Jacobian", lambda q: space_jacobian(tree, link, vector(q)), "J(#1)", KINEMATICS),
        signals=["q"],
        dimensions=(tree.freedoms, 6),
        domains=(joint_domain(tree), SCREW),
        frames=(None, "0"),
    )
    world, letter = world_junction(name), latex_name(name)
    poses = Block(
        "pose",
        [
            ("H", Op("pose", lambda q: link_pose(tree, link, vector(q)), "H(#1)", KINEMATICS), ["q"]),
            ("state", Op("pose state", lambda q: link_pose_state(tree, link, vector(q)), "H(#1)", KINEMATICS), ["q"]),
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


def vector(q: Any) -> Any:
    return q if np.ndim(q) else array([q])
