"""A study of an impact: what was measured, an arm and how many poses in; laws, masses, order and simulated impacts out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from screwbond.models.impact.force_laws import ForceLaw, equivalent_laws
from screwbond.models.impact.mobility import KINDS, locked_ratio, mass_at
from screwbond.models.impact.poses import PoseStudy, study_poses
from screwbond.models.impact.robot import Striker, default_striker
from screwbond.models.impact.striking import ImpactRun, simulate_impacts
from screwbond.models.impact.variants import MAKERS, ImpulseMeasurement, blow
from screwbond.models.studies.fields import check_record, number, vector

from bondgraph.errors import Problem, caller_place
from bondgraph.output.short_repr import short_repr
from screws.renamed import answer_old_names


@dataclass(frozen=True)
class MeasuredImpact:
    """What is known of an impact, and how widely to look around it; by default that of WA22, Fig. 1.

    Raises `ModelError` E540 for numbers that no impact has.
    """

    v0: float = number("m/s", "speed of the point towards the wall", 0.1754, above=0.0)
    impulse: float = number("N s", "of the impact", 0.6662, above=0.0)
    duration: float = number("s", "from touch to release", 10.4e-3, above=0.0)
    e: float = number("", "coefficient of restitution, below 1", 0.1, above=0.0)
    speeds: tuple[float, ...] = vector(None, "m/s", "for figures over the speed", (0.08, 0.10, 0.12, 0.15, 0.18), above=0.0)
    poses: int = number("", "random configurations in the study of the order", 300, integer=True, least=1, most=100000)
    seed: int = number("", "of the random configurations", 0, integer=True, least=0)

    def __post_init__(self) -> None:
        check_record(self, "E540", "measured impact", lambda measured: measured._together())

    def _together(self) -> list[Problem]:
        found, place = [], (caller_place(),)
        if self.e >= 1.0:
            found.append(Problem("E540", f"e of the measured impact is {self.e:g}", (), place, ("a number above 0 and below 1",)))
        if not self.speeds:
            found.append(Problem("E540", "speeds of the measured impact are none", (), place, ("one speed, or several",)))
        return found


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class ImpactStudy:
    """All that is known of an arm that strikes.

    Parameters
    ----------
    measured, striker : what was asked.
    laws : name -> the force law with the measured speed, impulse, duration and restitution.
    masses : kind -> kg, by formula.
    graphs : kind -> what its graph measured; of the kinds that have one.
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
        """The largest relative difference of a mass by formula from that of its graph."""
        return max(abs(measured.mass / self.masses[kind] - 1.0) for kind, measured in self.graphs.items())

    def summary(self) -> dict[str, Any]:
        """Main figures, for summary.json."""
        return {
            "measured": asdict(self.measured),
            "laws": {name: _told(law) for name, law in self.laws.items()},
            "arm": self.striker.chain.name,
            "link": self.striker.chain.links[self.striker.striking_point.link].name,
            "q": np.asarray(self.striker.q, dtype=float).tolist(),
            "effective_mass": dict(self.masses),
            "effective_mass_of_graphs": {kind: measured.mass for kind, measured in self.graphs.items()},
            "disagreement": self.disagreement,
            "locked_ratio": locked_ratio(self.striker.striking_point, self.striker.normal),
            "impulse_at_end_of_compression": {kind: mass * self.measured.v0 for kind, mass in self.masses.items()},
            "impacts": {name: _struck(strike) for name, strike in self.impacts.items()},
            "order": {"poses": len(self.order.q), **self.order.shares()},
        }


def _told(law: ForceLaw) -> dict[str, float]:
    names = ("restitution", "duration", "impulse", "peak_force", "largest_compression")
    return {**asdict(law), **{name: getattr(law, name) for name in names}}  # type: ignore[call-overload]


def _struck(strike: ImpactRun) -> dict[str, float]:
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
    """Laws of the measured impact, masses of the arm (formula and graph), and their order over poses.

    Parameters
    ----------
    measured : by default that of WA22, Fig. 1.
    striker : by default the arm of round numbers.

    Raises `ModelError` E540 to E542 for what no impact has.
    """
    asked, arm = measured or MeasuredImpact(), striker or default_striker()
    where = arm.striking_point
    return ImpactStudy(
        asked,
        arm,
        equivalent_laws(asked.v0, asked.impulse, asked.duration, asked.e),
        {kind: mass_at(where, arm.normal, kind) for kind in KINDS},
        {kind: blow(where, arm.normal, kind, speed=asked.v0) for kind in MAKERS},
        study_poses(arm.chain, arm.point, arm.normal, count=asked.poses, seed=asked.seed, link=arm.link),
        simulate_impacts(arm, asked.v0, asked.duration, asked.e),
    )
