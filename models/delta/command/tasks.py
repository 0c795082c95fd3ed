"""Table of the tasks of the command `screwbond delta`."""

from screwbond.models.delta.command.linearisation import LINEARISE
from screwbond.models.delta.command.robot_arguments import robot_arguments
from screwbond.models.delta.command.simulation import SIMULATE
from screwbond.models.delta.command.soft_touch import SOFT_TOUCH
from screwbond.models.delta.command.workspace_map import WORKSPACE
from screwbond.models.studies.commands import study_command

TASKS = {"simulate": SIMULATE, "linearise": LINEARISE, "soft-touch": SOFT_TOUCH, "workspace": WORKSPACE}
"""Tasks by name; the first is the default."""

DELTA = study_command("delta", TASKS, help="simulate or analyse a delta robot", arguments=robot_arguments)
