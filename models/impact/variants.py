"""Effective masses as graphs: a chain strikes a constraint at a point, and the run measures impulse and jump of velocity.

```
 momentum      arm (joints free)  --> MTF n . v  --> constraint      one component of the point's twist is reversed
 projection    arm (joints free)  --> MTF twist  --> constraint      all six are
 composite     one free body      --> MTF n . v  --> constraint      joints locked: all links but the base, welded
```

Each constraint releases for ever after the impulse. The run gives the impulse, by its momenta, and the jump of the velocity,
without a formula of an inverse inertia matrix. The matrix with joint flexibility, WA22 (12), is not symmetric; no graph of
storages and junctions has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.bodies import Body, rigid_body
from screwbond.models.chains import ChainGraph, LinkBody, chain_graph
from screwbond.models.impact.force_laws import check_positive
from screwbond.models.impact.mobility import StrikingPoint, direction, kind_of, need_mobile, striking_point

from bondgraph import J1, MTF, Automaton, Constraint, Graph, Op, Transition, simulate
from bondgraph.errors import refusal
from bondgraph.model.domains import SCREW, TRANSLATION
from screws.poses import Ad_of_inverse, pose_from_state
from screws.rotations import quaternion

Vector = Sequence[float] | np.ndarray
WALL = "wall"


@dataclass(frozen=True, eq=False)
class ImpulseMeasurement:
    """Impulse, jump of velocity and mass that the run of a graph variant measured.

    Parameters
    ----------
    impulse : of the wall on the point, (6,) [moment; force] about the point in the axes of the link, N m s and N s.
    jump : of the twist of the point in the same frame, (6,) where all of it is reversed, else of the velocity along the normal
        (1,), rad/s and m/s.
    mass : impulse along the normal over the jump of the velocity along it, kg.
    lost : kinetic energy before it minus that after it, J.
    """

    impulse: np.ndarray
    jump: np.ndarray
    mass: float
    lost: float


@dataclass(frozen=True, eq=False)
class Variant:
    """Graph variant of an assumption.

    Parameters
    ----------
    graph : with the parts "arm" and the constraint "stop".
    momentum : path of the momentum that the impulse changes.
    rows : (k, n) from joint velocities, or (k, 6) from the body's twist, to the components that the constraint reverses.
    directions : (k, 6) from the point's twist to these components.
    """

    graph: Graph
    momentum: str
    rows: np.ndarray
    directions: np.ndarray


def graph_effective_mass(
    chain: Any,
    q: Vector,
    point: Vector = (0.0, 0.0, 0.0),
    normal: Vector = (0.0, 0.0, 1.0),
    *,
    kind: str = "composite",
    link: str | None = None,
    speed: float = 1.0,
    restitution: float = 0.0,
) -> ImpulseMeasurement:
    """Let the compiled graph of an assumption strike a wall, and measure the mass that the wall meets; see `effective_mass`.

    Parameters
    ----------
    kind : "momentum", "projection" or "composite".
    speed : of the point towards the wall, m/s.
    restitution : e of the impact, 0 to 1.

    Raises `ModelError` E540 for a speed that is not positive, E541 and E542 as `effective_mass`, E543 for a kind without graph.
    """
    return measure_impulse(striking_point(chain, q, point, link), normal, kind, speed=speed, restitution=restitution)


def measure_impulse(
    where: StrikingPoint, normal: Vector, kind: str, *, speed: float = 1.0, restitution: float = 0.0
) -> ImpulseMeasurement:
    """Return the `graph_effective_mass` of a point."""
    variant = impact_graph(where, normal, kind, speed=speed, restitution=restitution)
    # The impact is the first event; the rest of the run does not matter.
    run = simulate(variant.graph, 1e-6, samples=1e-6)
    strikes = run.events[0]
    (p0, p1), (v0, v1) = (run.at_event(strikes, name) for name in (variant.momentum, "at the wall.flow"))
    along = np.linalg.lstsq(variant.rows.T, p1 - p0, rcond=None)[0]
    impulse, jump = variant.directions.T @ along, np.atleast_1d(v1 - v0)
    n = direction(where.chain, normal)
    lost = float(np.sum(strikes.energies_before) - np.sum(strikes.energies_after))
    change = n @ jump[3:] if len(jump) == 6 else jump[0]
    return ImpulseMeasurement(impulse, jump, float(n @ impulse[3:] / change), lost)


def impact_graph(where: StrikingPoint, normal: Vector, kind: str, *, speed: float = 1.0, restitution: float = 0.0) -> Variant:
    """Return the graph of an assumption, with its point about to strike a wall across the normal.

    Raises as `graph_effective_mass`.
    """
    check_positive("an impact", v0=speed)
    n, assumption = direction(where.chain, normal), kind_of(kind, where.chain)
    need_mobile(where, n, kind)
    build = GRAPH_BUILDERS.get(kind)
    if build is None:
        why = f"its W, {assumption.source}, is not symmetric: what storages and junctions make is"
        cure = f"kind={' or '.join(repr(k) for k in GRAPH_BUILDERS)}; effective_mass(..., kind={kind!r}) has the formula"
        raise refusal("E543", f"the inverse inertia matrix of kind {kind!r} has no graph", cure, about=where.chain.name, why=why)
    directions = np.eye(6) if assumption.holds_all else np.concatenate([np.zeros(3), n])[None]
    velocity = directions @ np.concatenate([np.zeros(3), -speed * n])
    return build(where, n, directions, velocity, restitution)


def _free_joint_graph(
    where: StrikingPoint, n: np.ndarray, directions: np.ndarray, velocity: np.ndarray, restitution: float
) -> Variant:
    name, rows = where.chain.links[where.link].name, directions @ where.jacobian
    arm = chain_graph(
        where.chain,
        "arm",
        ports=(name,),
        position=where.q,
        velocity=np.linalg.lstsq(rows, velocity, rcond=None)[0],
        limits="ignore",
        form="hamiltonian",
    )
    offset = np.eye(4)
    offset[:3, 3] = where.point
    graph = _wall_graph(arm, arm.link(name), directions, restitution, lambda H: H @ offset)
    return Variant(graph, "arm.mechanism.p", rows, directions)


def _composite_graph(
    where: StrikingPoint, n: np.ndarray, directions: np.ndarray, velocity: np.ndarray, restitution: float
) -> Variant:
    composite, H = where.composite, where.frame
    body = rigid_body(
        "arm",
        mass=composite.mass,
        inertia=composite.rotational,
        centre_of_mass=composite.centre.tolist(),
        position=H[:3, 3].tolist(),
        quaternion=np.asarray(quaternion(H[:3, :3]), dtype=float).tolist(),
        velocity=(H[:3, :3] @ (velocity @ directions)[3:]).tolist(),
    )
    graph = _wall_graph(body, body, directions, restitution, pose_from_state)
    return Variant(graph, "arm.inertia.p", directions, directions)


GRAPH_BUILDERS: dict[str, Callable[[StrikingPoint, np.ndarray, np.ndarray, np.ndarray, float], Variant]] = {
    "projection": _free_joint_graph,
    "composite": _composite_graph,
    "momentum": _free_joint_graph,
}
"""Kind -> builder of its graph."""


def _wall_graph(
    arm: ChainGraph | Body, striker: LinkBody | Body, directions: np.ndarray, restitution: float, frame: Callable[[Any], Any]
) -> Graph:
    """Return the striker, the components of its twist that the wall reverses, and the wall, which acts once, at the start."""
    count = len(directions)
    domain = SCREW if count == 6 else TRANSLATION

    def rows(pose: Any) -> Any:
        components = directions @ Ad_of_inverse(frame(pose))
        return components if count > 1 else components[0]

    seen = MTF(
        "components",
        Op("components", rows, r"S\,\mathrm{Ad}_{#1^{-1}}", "VI02 (4), corrected"),
        signals=[striker.frame_path],
        dimensions=(6, count),
        domains=(SCREW, domain),
    )
    stop = Constraint("stop", holds="velocity", automaton=WALL, active=["held"], restitution=restitution, dimension=count)
    graph, at_wall = Graph("impact"), J1("at the wall")
    graph.add(arm)
    graph.connect(striker.world, seen).connect(seen, at_wall).connect(at_wall, stop)
    at_once = Op("at once", lambda t: 1.0 + 0.0 * t, "1")
    strike = Transition("free", "struck", at_once, ("time",), kind="strikes", impact=("stop",))
    return graph.add_automaton(Automaton(WALL, ("free", "struck", "held"), "free", (strike,)))
