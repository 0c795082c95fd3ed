"""Arguments shared by the tasks of `screwbond delta`: --params and --form; and files of the robot's graph."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from screwbond.models.delta.kinematics.parameters import DeltaParameters, read_parameters
from screwbond.models.delta.studies.robot import VELOCITY, DeltaRobot
from screwbond.models.studies.files import graph_files

from bondgraph.compile.compiled import Compiled
from bondgraph.render.diagram import diagram

PARAMETER_SETS = {"fit": DeltaParameters.fit, "lab": DeltaParameters.lab}
"""Named parameter sets."""

ROBOT_FIELDS = {"FILE.json": DeltaParameters}
"""Record of a parameter file."""


def robot_arguments(parser: Any) -> None:
    """Add --params and --form."""
    parser.add_argument(
        "--params", required=True, metavar="|".join(["FILE.json", *PARAMETER_SETS]), help="the robot's parameters"
    )
    parser.add_argument("--form", default="lagrangian", choices=tuple(VELOCITY))


def read_robot(options: Namespace) -> DeltaRobot:
    """Return the robot of the arguments; errors as `read_parameters`."""
    parameters = PARAMETER_SETS[options.params]() if options.params in PARAMETER_SETS else read_parameters(options.params)
    return DeltaRobot(parameters, form=options.form)


def robot_files(compiled: Compiled) -> dict[str, Any]:
    """Return graph.svg, equations.tex, and arm.svg, the graph with arm 1 alone unfolded."""
    return {**graph_files(compiled, "all"), "arm.svg": lambda: diagram(compiled, folded=["arm 2", "arm 3"])}


def format_row(values: Iterable[float]) -> str:
    """Format numbers for reading."""
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"
