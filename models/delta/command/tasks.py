"""The command `screwbond delta`: the table of its tasks."""

from screwbond.models.delta.command.linearisation import LINEARISE
from screwbond.models.delta.command.mapping import WORKSPACE
from screwbond.models.delta.command.robots import robot_arguments
from screwbond.models.delta.command.simulation import SIMULATE
from screwbond.models.delta.command.touching import SOFT_TOUCH
from screwbond.models.studies.commands import study_command

TASKS = {"simulate": SIMULATE, "linearise": LINEARISE, "soft-touch": SOFT_TOUCH, "workspace": WORKSPACE}
"""Every task by its name; the first is the default."""

DELTA = study_command("delta", TASKS, help="simulate or analyse a delta robot", arguments=robot_arguments)
