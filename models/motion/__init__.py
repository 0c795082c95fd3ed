"""Reference motions: smooth steps, S-curves, splines, rotations and poses, as signals, flow sources and bodies."""

from screwbond.models.motion.blocks import flow_source, reference
from screwbond.models.motion.polynomials import Motion, axes, hold, sequence
from screwbond.models.motion.profiles import cubic_spline, pick_and_place, quintic, s_curve
from screwbond.models.motion.rotations import (
    AxisRotations,
    PoseMotion,
    axis_rotations,
    following_body,
    pose_motion,
    pose_reference,
)

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "Motion",
    "PoseMotion",
    "AxisRotations",
    "axes",
    "cubic_spline",
    "flow_source",
    "following_body",
    "hold",
    "pick_and_place",
    "pose_motion",
    "pose_reference",
    "quintic",
    "reference",
    "s_curve",
    "sequence",
    "axis_rotations",
]

check_calls(__name__)
answer_old_names(__name__)
