"""Impacts of a robot arm (Wang, Dehio and Kheddar 2022, WA22): force laws, effective masses and simulated impacts, by formula and
by graph."""

from screwbond.models.impact.force_laws import (
    ForceHistory,
    ForceLaw,
    MaxwellImpact,
    SpringImpact,
    ViscoelasticImpact,
    equivalent_laws,
    identify,
    restitution,
)
from screwbond.models.impact.mobility import KINDS, effective_mass, inverse_inertia, locked_ratio, striking_point
from screwbond.models.impact.striking import (
    ImpactRun,
    Striker,
    default_striker,
    seven_joint_arm,
    simulate_impact,
    simulate_impacts,
    striker_from_urdf,
)
from screwbond.models.impact.study import (
    ImpactStudy,
    ImpulseMeasurement,
    MeasuredImpact,
    PoseStudy,
    graph_effective_mass,
    study_impact,
    study_poses,
)

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "KINDS",
    "ImpactStudy",
    "MeasuredImpact",
    "ImpactRun",
    "ImpulseMeasurement",
    "ForceHistory",
    "ForceLaw",
    "MaxwellImpact",
    "PoseStudy",
    "SpringImpact",
    "Striker",
    "ViscoelasticImpact",
    "equivalent_laws",
    "default_striker",
    "effective_mass",
    "graph_effective_mass",
    "identify",
    "inverse_inertia",
    "locked_ratio",
    "study_poses",
    "restitution",
    "seven_joint_arm",
    "simulate_impact",
    "striker_from_urdf",
    "simulate_impacts",
    "striking_point",
    "study_impact",
]

check_calls(__name__)
answer_old_names(__name__)
