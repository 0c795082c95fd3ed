"""Study of an impact: force laws, effective masses by formula and graph, their order, and simulated impacts.

Effective masses over random configurations of an arm: the order of the kinds of WA22, and its exceptions.

The paper says projection > composite > generalised momentum. The first is at least the last, by a theorem: reversing all six
components of the twist meets no less inertia than reversing one. The place of the composite body in this order varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from screwbond.models.chains import Tree
from screwbond.models.impact.force_laws import ForceLaw, equivalent_laws
from screwbond.models.impact.mobility import KINDS, locked_ratio, mass_at, striking_point
from screwbond.models.impact.striking import ImpactRun, Striker, default_striker, simulate_impacts
from screwbond.models.impact.variants import GRAPH_BUILDERS, ImpulseMeasurement, measure_impulse
from screwbond.models.studies.fields import check_record, number, vector

from bondgraph.errors import Problem, caller_place, refusal
from bondgraph.output.progress import track
from bondgraph.output.short_repr import short_repr
from screws.renamed import answer_old_names

Vector = Sequence[float] | np.ndarray


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class PoseStudy:
    """Effective masses of one point along one normal.

    Parameters
    ----------
    q : configurations (k, n).
    masses : kind -> (k,), kg.
    """

    q: np.ndarray
    masses: dict[str, np.ndarray]

    @property
    def ordered(self) -> np.ndarray:
        """True for projection > composite > momentum (k,)."""
        return self.composite_below_projection & (self.masses["composite"] > self.masses["momentum"])

    @property
    def composite_below_projection(self) -> np.ndarray:
        """True for projection > composite (k,)."""
        return np.asarray(self.masses["projection"] > self.masses["composite"])

    @property
    def theorem(self) -> bool:
        """True if projection >= momentum everywhere, to rounding."""
        return bool(np.all(self.masses["projection"] >= self.masses["momentum"] * (1.0 - 1e-9)))

    def shares(self) -> dict[str, float]:
        """Return the share of the configurations with each relation."""
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
    """Return effective masses in `count` configurations, uniform between the joint limits (default: a full turn, or a metre).

    Raises `ModelError` as `effective_mass`; E540 for a count or a seed that is no whole number; E542 for an arm of fewer than six
    freedoms, which has no projection.
    """
    if not (isinstance(count, (int, np.integer)) and count > 0):
        raise refusal("E540", f"the count of configurations is {count!r}", "a whole number above 0", about=chain.name)
    if not (seed is None or (isinstance(seed, (int, np.integer)) and seed >= 0)):
        raise refusal("E540", f"the seed of configurations is {seed!r}", "a whole number, not negative", about=chain.name)
    lower, upper = _bounds(chain)
    q = np.random.default_rng(seed).uniform(lower, upper, size=(count, chain.freedoms))
    masses: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for at in track(q, "effective masses", progress=progress):
        where = striking_point(chain, at, point, link)
        for kind, column in masses.items():
            column.append(mass_at(where, normal, kind))
    return PoseStudy(q, {kind: np.array(column) for kind, column in masses.items()})


def _bounds(chain: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return finite limits (n,) of the joints."""
    reach = np.array([np.pi if turns else 0.5 for turns in chain.is_angle])
    lower, upper = chain.limits.T
    return np.where(np.isfinite(lower), lower, -reach), np.where(np.isfinite(upper), upper, reach)


@dataclass(frozen=True)
class MeasuredImpact:
    """Measurement of an impact, by default WA22, Fig. 1, and the ranges of a study around it.

    Raises `ModelError` E540 for invalid numbers.
    """

    v0: float = number("m/s", "speed of the point towards the wall", 0.1754, above=0.0)
    impulse: float = number("N s", "of the impact", 0.6662, above=0.0)
    duration: float = number("s", "from touch to release", 10.4e-3, above=0.0)
    e: float = number("", "coefficient of restitution, below 1", 0.1, above=0.0)
    speeds: tuple[float, ...] = vector(None, "m/s", "for figures over the speed", (0.08, 0.10, 0.12, 0.15, 0.18), above=0.0)
    poses: int = number("", "random configurations in the study of the order", 300, integer=True, least=1, most=100000)
    seed: int = number("", "of the random configurations", 0, integer=True, least=0)

    def __post_init__(self) -> None:
        check_record(self, "E540", "measured impact", _contradictions)


def _contradictions(measured: MeasuredImpact) -> Iterator[Problem]:
    place = (caller_place(),)
    if measured.e >= 1.0:
        yield Problem("E540", f"e of the measured impact is {measured.e:g}", (), place, ("a number above 0 and below 1",))
    if not measured.speeds:
        yield Problem("E540", "speeds of the measured impact are none", (), place, ("one speed, or several",))


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class ImpactStudy:
    """Result of a study of an arm that strikes.

    Parameters
    ----------
    measured, striker : arguments of the study.
    laws : name -> the force law with the measured speed, impulse, duration and restitution.
    masses : kind -> kg, by formula.
    graphs : kind -> measurement of its graph, for the kinds that have one.
    order : the masses over random configurations.
    impacts : name -> the arm in simulation against a wall with that law.
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
        """Largest relative difference of a mass by formula from that of its graph."""
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
    """Study a measured impact and an arm: force laws, masses (formula and graph), their order over poses, simulated impacts.

    Parameters
    ----------
    measured : by default that of WA22, Fig. 1.
    striker : by default `default_striker()`.

    Raises `ModelError` E540 to E542 for invalid arguments.
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
