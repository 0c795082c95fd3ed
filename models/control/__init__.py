"""Controllers of mechanisms with n axes: joint PID, task-space PD and operational-space torques as signal blocks, and drives."""

from screwbond.models.control.controllers import joint_pid, operational_torque, pd_feedforward, task_force, task_inertia
from screwbond.models.control.drives import limited_drive
from screwbond.models.control.gains import SoftTouch, check_gains, fading_gain, soft_touch_gains

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "SoftTouch",
    "check_gains",
    "fading_gain",
    "joint_pid",
    "limited_drive",
    "operational_torque",
    "pd_feedforward",
    "soft_touch_gains",
    "task_force",
    "task_inertia",
]

check_calls(__name__)
answer_old_names(__name__)
