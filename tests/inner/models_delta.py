"""Internal names of `screwbond.models.delta` that tests use."""

# ruff: noqa: F401

from screwbond.models.delta.command import TASKS, Grid
from screwbond.models.delta.graphs.control import (
    gravity_compensation,
    joint_control,
    linearising_control,
    model_terms,
    task_control,
    tip_drift,
)
from screwbond.models.delta.graphs.rigid_bodies import rigid_delta_graph
from screwbond.models.delta.graphs.three_arms import delta_graph
from screwbond.models.delta.kinematics import arm, formula_notes
from screwbond.models.delta.kinematics.arm import CONE, by_arms, phi_of, phi_rate, theta_of, theta_rate
from screwbond.models.delta.kinematics.closure import ROTATIONS, closure, closure_jacobian, compiled_formulas
from screwbond.models.delta.kinematics.parameters import UNITS, DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import DeltaKinematics, assembly_mode, check_arms
from screwbond.models.delta.kinematics.workspace import workspace
from screwbond.models.delta.pictures import figures
from screwbond.models.delta.pictures.figures import bode_plot, degrees, gain_crossings, phase_crossings, plot_touch
from screwbond.models.delta.pictures.scene import (
    delta_scene,
    film,
    joint_positions,
    page,
    plot_tracking,
    poster,
    still,
    tracking_scene,
)
from screwbond.models.delta.pictures.workspace_figure import outlines, plot_workspace
from screwbond.models.delta.studies.analysis import sweep_poles
from screwbond.models.delta.studies.pick_and_place import Tracking, check_path, track, transfer
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.delta.studies.soft_touch import BALL, SoftTouchRun, TouchPlan, add_brick, design, soft_touch, touch_graph
