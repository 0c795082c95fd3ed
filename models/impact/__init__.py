"""Impacts of a robot arm (Wang, Dehio and Kheddar 2022): force laws, arms and assumptions in; exact figures and graphs out."""

from screwbond.models.impact.force_laws import ForceLaw, MaxwellImpact, SpringImpact, alike
from screwbond.models.impact.mobility import KINDS, effective_mass, inverse_inertia, locked_ratio, striking_point
from screwbond.models.impact.poses import PoseStudy, over_poses
from screwbond.models.impact.robot import Striker, default_striker, seven_joint_arm, striker_from_urdf
from screwbond.models.impact.striking import Strike, strike, strikes
from screwbond.models.impact.study import ImpactStudy, Measured, study_impact
from screwbond.models.impact.variants import Blow, graph_effective_mass
from screwbond.models.impact.viscoelastic import ForceCourse, ViscoelasticImpact, identify, restitution

__all__ = [
    "KINDS",
    "ImpactStudy",
    "Measured",
    "Strike",
    "Blow",
    "ForceCourse",
    "ForceLaw",
    "MaxwellImpact",
    "PoseStudy",
    "SpringImpact",
    "Striker",
    "ViscoelasticImpact",
    "alike",
    "default_striker",
    "effective_mass",
    "graph_effective_mass",
    "identify",
    "inverse_inertia",
    "locked_ratio",
    "over_poses",
    "restitution",
    "seven_joint_arm",
    "strike",
    "striker_from_urdf",
    "strikes",
    "striking_point",
    "study_impact",
]
