"""Study of an impact: force laws, effective masses by formula and by graph, their order, and simulated impacts.

Masses in random configurations test the order that WA22 states: projection > composite > generalised momentum. By a theorem, the
projection mass is at least the momentum mass: stopping all six components of the twist meets no less inertia than stopping one.
The position of the composite mass in this order varies.

In a graph, a chain hits a constraint at a point, and the run measures impulse and velocity jump without a formula for an inverse
inertia matrix:

```
 momentum      arm (joints free)  --> MTF n . v  --> constraint      one component of the point's twist is stopped
 projection    arm (joints free)  --> MTF twist  --> constraint      all six are stopped
 composite     one free body      --> MTF n . v  --> constraint      joints locked: all links except the base welded
```

The matrix with joint flexibility, WA22 (12), is not symmetric; no graph of storages and junctions has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from screwbond.models.bodies import Body, rigid_body
from screwbond.models.chains import ChainGraph, LinkBody, Tree, chain_graph
from screwbond.models.impact.force_laws import ForceLaw, check_positive, equivalent_laws
from screwbond.models.impact.mobility import (
    KINDS,
    StrikingPoint,
    direction,
    kind_of,
    locked_ratio,
    mass_at,
    need_mobile,
    striking_point,
)
from screwbond.models.impact.striking import ImpactRun, Striker, default_striker, simulate_impacts
from screwbond.models.studies.fields import check_record, number, vector

from bondgraph import J1, MTF, Automaton, Constraint, Graph, Op, Transition, simulate
from bondgraph.errors import Problem, caller_place, refusal
from bondgraph.model.domains import SCREW, TRANSLATION
from bondgraph.output.progress import track
from bondgraph.output.short_repr import short_repr
from screws.names import answer_old_names
from screws.poses import Ad_of_inverse, pose_from_state
from screws.rotations import quaternion

WALL = "wall"


@dataclass(frozen=True, eq=False)
class ImpulseMeasurement:
    """Impulse, velocity jump and mass measured in the run of a graph variant.

    Parameters
    ----------
    impulse : impulse of the wall on the point, (6,) [moment; force] about the point in the axes of the link, N m s and N s.
    jump : jump of the point's twist in the same frame, (6,), for the projection, else of its velocity along the normal, (1,),
        rad/s and m/s.
    mass : impulse along the normal divided by the velocity jump along it, kg.
    lost : loss of kinetic energy, J.
    """

    impulse: np.ndarray
    jump: np.ndarray
    mass: float
    lost: float


@dataclass(frozen=True, eq=False)
class Variant:
    """Graph of the arm and a wall that represents an assumption about the joints.

    Parameters
    ----------
    graph : graph with the part "arm" and the constraint "stop".
    momentum : path of the momentum that the impact changes.
    rows : matrix (k, n) from joint velocities, or (k, 6) from the body's twist, to the constrained components.
    directions : matrix (k, 6) from the point's twist to these components.
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
    """Simulate an impact of the arm's graph on a wall, under an impact assumption, and measure the effective mass there; see
    `effective_mass`.

    Parameters
    ----------
    kind : "momentum", "projection" or "composite".
    speed : speed of the point towards the wall, m/s.
    restitution : coefficient of restitution, 0 to 1.

    Raises `ModelError` E540 for a speed that is not positive, E541 and E542 as for `effective_mass`, E543 for a kind without a
    graph; E151 for another restitution.
    """
    return measure_impulse(striking_point(chain, q, point, link), normal, kind, speed=speed, restitution=restitution)


def measure_impulse(
    where: StrikingPoint, normal: Vector, kind: str, *, speed: float = 1.0, restitution: float = 0.0
) -> ImpulseMeasurement:
    variant = impact_graph(where, normal, kind, speed=speed, restitution=restitution)
    # The impact is the first event; the rest of the run does not matter.
    run = simulate(variant.graph, 1e-6, samples=1e-6)
    strikes = run.events[0]
    (p0, p1), (v0, v1) = (run.at_event(strikes, name) for name in (variant.momentum, "at the wall.flow"))
    multipliers = np.linalg.lstsq(variant.rows.T, p1 - p0, rcond=None)[0]
    impulse, jump = variant.directions.T @ multipliers, np.atleast_1d(v1 - v0)
    n = direction(where.chain, normal)
    lost = float(np.sum(strikes.energies_before) - np.sum(strikes.energies_after))
    change = n @ jump[3:] if len(jump) == 6 else jump[0]
    return ImpulseMeasurement(impulse, jump, float(n @ impulse[3:] / change), lost)


def impact_graph(where: StrikingPoint, normal: Vector, kind: str, *, speed: float = 1.0, restitution: float = 0.0) -> Variant:
    check_positive("an impact", speed=speed)
    n, assumption = direction(where.chain, normal), kind_of(kind, where.chain)
    need_mobile(where, n, kind)
    build = GRAPH_BUILDERS.get(kind)
    if build is None:
        why = f"its W, {assumption.source}, is not symmetric, but storages and junctions always give a symmetric one"
        cure = f"kind={' or '.join(repr(k) for k in GRAPH_BUILDERS)}, or effective_mass(..., kind={kind!r}), which needs no graph"
        raise refusal("E543", f"the inverse inertia matrix of kind {kind!r} has no graph", cure, about=where.chain.name, why=why)
    directions = np.eye(6) if assumption.constrains_all else np.concatenate([np.zeros(3), n])[None]
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


def _wall_graph(
    arm: ChainGraph | Body, striker: LinkBody | Body, directions: np.ndarray, restitution: float, frame: Callable[[Any], Any]
) -> Graph:
    count = len(directions)
    domain = SCREW if count == 6 else TRANSLATION

    def rows(pose: Any) -> Any:
        components = directions @ Ad_of_inverse(frame(pose))
        return components if count > 1 else components[0]

    point_components = MTF(
        "components",
        Op("components", rows, r"S\,\mathrm{Ad}_{#1^{-1}}", "VI02 (4), corrected"),
        signals=[striker.frame_path],
        dimensions=(6, count),
        domains=(SCREW, domain),
    )
    stop = Constraint("stop", holds="velocity", automaton=WALL, active=["held"], restitution=restitution, dimension=count)
    graph, at_wall = Graph("impact"), J1("at the wall")
    graph.add(arm)
    graph.connect(striker.world, point_components).connect(point_components, at_wall).connect(at_wall, stop)
    at_once = Op("at once", lambda t: 1.0 + 0.0 * t, "1")
    strike = Transition("free", "struck", at_once, ("time",), kind="strikes", impact=("stop",))
    return graph.add_automaton(Automaton(WALL, ("free", "struck", "held"), "free", (strike,)))


Vector = Sequence[float] | np.ndarray


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class PoseStudy:
    """Effective masses of a point along a normal.

    Parameters
    ----------
    q : configurations (k, n).
    masses : effective masses (k,), kg, by kind.
    """

    q: np.ndarray
    masses: dict[str, np.ndarray]

    @property
    def ordered(self) -> np.ndarray:
        """True where the masses satisfy projection > composite > momentum (k,)."""
        return self.composite_below_projection & (self.masses["composite"] > self.masses["momentum"])

    @property
    def composite_below_projection(self) -> np.ndarray:
        """True where the masses satisfy projection > composite (k,)."""
        return np.asarray(self.masses["projection"] > self.masses["composite"])

    @property
    def theorem(self) -> bool:
        """True if projection >= momentum everywhere, within rounding error."""
        return bool(np.all(self.masses["projection"] >= self.masses["momentum"] * (1.0 - 1e-9)))

    def shares(self) -> dict[str, float]:
        """Return the fraction of configurations in which each relation is satisfied."""
        m = self.masses
        return {
            "projection >= momentum": float(np.mean(m["projection"] >= m["momentum"] * (1.0 - 1e-9))),
            "projection > composite": float(np.mean(self.composite_below_projection)),
            "composite > momentum": float(np.mean(m["composite"] > m["momentum"])),
            "projection > composite > momentum": float(np.mean(self.ordered)),
        }


def study_poses(
    chain: Tree,
    point: Vector = (0.0, 0.0, 0.0),
    normal: Vector = (0.0, 0.0, 1.0),
    *,
    count: int = 200,
    seed: int = 0,
    link: str | None = None,
    progress: bool = True,
) -> PoseStudy:
    """Return effective masses in `count` configurations, uniformly distributed between the joint limits (by default a full turn
    or a metre).

    Raises the errors of `effective_mass`; E540 for an invalid count or seed; E542 for an arm with fewer than six freedoms, which
    has no projection.
    """
    if not (isinstance(count, (int, np.integer)) and count > 0):
        raise refusal("E540", f"the count of configurations is {count!r}", "a positive integer", about=chain.name)
    if not (seed is None or (isinstance(seed, (int, np.integer)) and seed >= 0)):
        raise refusal("E540", f"the seed of configurations is {seed!r}", "a non-negative integer", about=chain.name)
    lower, upper = _bounds(chain)
    q = np.random.default_rng(seed).uniform(lower, upper, size=(count, chain.freedoms))
    masses: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for at in track(q, "effective masses", progress=progress):
        where = striking_point(chain, at, point, link)
        for kind, column in masses.items():
            column.append(mass_at(where, normal, kind))
    return PoseStudy(q, {kind: np.array(column) for kind, column in masses.items()})


def _bounds(chain: Tree) -> tuple[np.ndarray, np.ndarray]:
    reach = np.array([np.pi if turns else 0.5 for turns in chain.is_angle])
    lower, upper = chain.limits.T
    return np.where(np.isfinite(lower), lower, -reach), np.where(np.isfinite(upper), upper, reach)


@dataclass(frozen=True)
class MeasuredImpact:
    """Measured impact, by default that of WA22, Fig. 1, and the ranges of a study around it.

    Raises `ModelError` E540 for invalid values.
    """

    v0: float = number("m/s", "speed of the point towards the wall", 0.1754, above=0.0)
    impulse: float = number("N s", "measured impulse", 0.6662, above=0.0)
    duration: float = number("s", "time from first contact to release", 10.4e-3, above=0.0)
    e: float = number("", "coefficient of restitution, below 1", 0.1, above=0.0)
    speeds: tuple[float, ...] = vector(None, "m/s", "impact speeds in the figures", (0.08, 0.10, 0.12, 0.15, 0.18), above=0.0)
    poses: int = number(
        "", "number of random configurations in which masses are compared", 300, integer=True, least=1, most=100000
    )
    seed: int = number("", "seed of the random configurations", 0, integer=True, least=0)

    def __post_init__(self) -> None:
        check_record(self, "E540", "measured impact", _contradictions)


def _contradictions(measured: MeasuredImpact) -> Iterator[Problem]:
    place = (caller_place(),)
    if measured.e >= 1.0:
        yield Problem(
            "E540", f"e = {measured.e:g} is invalid for the measured impact", (), place, ("a number above 0 and below 1",)
        )
    if not measured.speeds:
        yield Problem("E540", "the measured impact has no speeds", (), place, ("one speed, or several speeds",))


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class ImpactStudy:
    """Result of an impact study.

    Parameters
    ----------
    measured, striker : arguments of the study.
    laws : force laws by name, with the measured speed, impulse, duration and restitution.
    masses : effective mass, kg, of each kind, by formula.
    graphs : measurement with its graph, for each kind that has one.
    order : masses in random configurations.
    impacts : simulated impact of the arm on a wall with each law, by the law's name.
    """

    measured: MeasuredImpact
    striker: Striker
    laws: dict[str, ForceLaw]
    masses: dict[str, float]
    graphs: dict[str, ImpulseMeasurement]
    order: PoseStudy
    impacts: dict[str, ImpactRun]

    @property
    def disagreement(self) -> float:
        """Largest relative difference between a mass by formula and by graph."""
        return max(abs(measured.mass / self.masses[kind] - 1.0) for kind, measured in self.graphs.items())

    def summary(self) -> dict[str, Any]:
        """Return the main figures, for summary.json."""
        return {
            "measured": asdict(self.measured),
            "laws": {name: _law_figures(law) for name, law in self.laws.items()},
            "arm": self.striker.chain.name,
            "link": self.striker.chain.links[self.striker.striking_point.link].name,
            "q": np.asarray(self.striker.q, dtype=float).tolist(),
            "effective_mass": dict(self.masses),
            "effective_mass_of_graphs": {kind: measured.mass for kind, measured in self.graphs.items()},
            "disagreement": self.disagreement,
            "locked_ratio": locked_ratio(self.striker.striking_point, self.striker.normal),
            "impulse_at_end_of_compression": {kind: mass * self.measured.v0 for kind, mass in self.masses.items()},
            "impacts": {name: _impact_figures(strike) for name, strike in self.impacts.items()},
            "order": {"poses": len(self.order.q), **self.order.shares()},
        }


def _law_figures(law: ForceLaw) -> dict[str, float]:
    names = ("restitution", "duration", "impulse", "peak_force", "largest_compression")
    return {**asdict(law), **{name: getattr(law, name) for name in names}}


def _impact_figures(strike: ImpactRun) -> dict[str, float]:
    peak = float(np.max(strike.force[1]))
    single = strike.law
    return {
        "restitution": strike.restitution,
        "duration": strike.duration,
        "impulse": strike.impulse,
        "peak_force": peak,
        "impulse_of_a_single_mass": single.impulse,
        "peak_force_of_a_single_mass": single.peak_force,
    }


def study_impact(measured: MeasuredImpact | None = None, striker: Striker | None = None) -> ImpactStudy:
    """Study a measured impact and an arm: force laws, masses by formula and by graph, their order, and simulated impacts.

    Parameters
    ----------
    measured : by default the impact of WA22, Fig. 1.
    striker : by default `default_striker()`.

    Raises `ModelError` E540 to E542 for invalid arguments, E544 if the arm does not leave the wall.
    """
    impact, arm = measured or MeasuredImpact(), striker or default_striker()
    where = arm.striking_point
    return ImpactStudy(
        impact,
        arm,
        equivalent_laws(impact.v0, impact.impulse, impact.duration, impact.e),
        {kind: mass_at(where, arm.normal, kind) for kind in KINDS},
        {kind: measure_impulse(where, arm.normal, kind, speed=impact.v0) for kind in GRAPH_BUILDERS},
        study_poses(arm.chain, arm.point, arm.normal, count=impact.poses, seed=impact.seed, link=arm.link),
        simulate_impacts(arm, impact.v0, impact.duration, impact.e),
    )
