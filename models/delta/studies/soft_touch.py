"""Soft touch: the finger of a delta robot approaches a brick on a table, touches it, and presses without moving it.

The tool follows a spline until it is close, then approaches at a low speed. Meanwhile the gain kp along its way fades to zero: at
the contact the robot is under velocity control, and presses with Lambda kd v, whatever the place of the brick.

Source: Bortoff 2020, section 4 and fig. 13.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.contacts.laws.three_state import TOUCHED
from screwbond.models.delta.graphs.touch_graph import add_brick
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.start import start_of
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.delta.studies.run import DeltaRun
from screwbond.models.delta.studies.touch_plan import BALL, TouchDesign, TouchPlan, design, touch_control

from bondgraph import Compiled, Element, Graph, compile_model
from bondgraph.run.events.records import Event
from screws.renamed import answer_old_names

__all__ = ["BALL", "SoftTouchRun", "TouchDesign", "TouchPlan", "design", "soft_touch", "touch_graph"]


def touch_graph(robot: DeltaRobot | DeltaParameters, plan: TouchPlan | None = None) -> Graph:
    """Robot, controller, brick and table as one graph."""
    robot, plan = DeltaRobot(robot) if isinstance(robot, DeltaParameters) else robot, plan or TouchPlan()
    parameters = robot.parameters
    designed = design(parameters, plan)
    control = touch_control(parameters, plan, designed)
    y = robot.inverse_kinematics(designed.place - [plan.gap, 0.0, 0.0])
    graph = robot.graph(y, signals=control.torque, name="soft touch")
    graph.add(*control.blocks)
    alpha1, alpha0, alpha2 = plan.constants or (designed.gains.alpha1, designed.gains.alpha0, 0.0)
    return add_brick(
        graph,
        gap=plan.gap,
        mass=plan.brick_mass,
        friction=plan.friction,
        gravity=abs(parameters.g),
        alpha1=alpha1,
        alpha0=alpha0,
        alpha2=alpha2,
    )


@dataclass(frozen=True)
class _Task:
    """What a compiled touch is kept by: the robot alone, since all numbers of a plan are run-time parameters of the graph."""

    robot: DeltaRobot
    graph: Graph = field(compare=False)


@functools.lru_cache(maxsize=8)
def _compiled(task: _Task) -> Compiled:
    return compile_model(task.graph, backend=task.robot.backend)


def soft_touch(
    robot: DeltaRobot | DeltaParameters,
    plan: TouchPlan | None = None,
    *,
    t_end: float = 20.0,
    samples: Any = 5e-3,
    rtol: float = 1e-7,
    **settings: Any,
) -> SoftTouchRun:
    """Run a soft touch. What is compiled is kept: another plan for the same robot compiles nothing.

    Parameters
    ----------
    robot : the robot, or its parameters alone.
    plan : what is asked; by default figure 13 of the paper.
    t_end, samples, rtol, settings : of the run, as in `bondgraph.run.simulate`.

    Raises `ModelError` E463, E464 for a start or a place out of reach; E476 for gains outside 0 <= kp <= kd^2, E477 for forces
    that no gains give.
    """
    robot, plan = DeltaRobot(robot) if isinstance(robot, DeltaParameters) else robot, plan or TouchPlan()
    designed = design(robot.parameters, plan)
    graph = touch_graph(robot, plan)
    compiled = _compiled(_Task(robot, graph))
    values = {
        f"{part.name}.{key}": np.asarray(parameter.value)
        for part in graph.parts.values()
        if isinstance(part, Element)
        for key, parameter in part.parameters.items()
    }
    start = start_of(robot.kinematics, w=designed.place - [plan.gap, 0.0, 0.0])
    initial = {**robot.initial(start), "contact.h": plan.gap}
    result = compiled.simulate(t_end, parameters=values, initial=initial, samples=samples, rtol=rtol, **settings)
    return SoftTouchRun(DeltaRun(result, compiled, robot.kinematics), plan, designed)


@answer_old_names
@dataclass(frozen=True, eq=False)
class SoftTouchRun:
    """A soft touch that was run; `touch["contact.multiplier"]` is any quantity by its name.

    Parameters
    ----------
    run : everything, with `result` for events and energies.
    plan, designed : what was asked, and the gains.
    """

    run: DeltaRun
    plan: TouchPlan
    design: TouchDesign = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.run[name]

    @cached_property
    def _touched(self) -> list[Event]:
        return [event for event in self.run.result.events if event.name == "touch" and event.kind == TOUCHED]

    @property
    def contacts(self) -> tuple[float, ...]:
        """Times at which the finger came into contact, s."""
        return tuple(event.time for event in self._touched)

    @cached_property
    def impacts(self) -> tuple[float, ...]:
        """Contact force just after each of these, N: a jump, which no row of the result need show."""
        return tuple(float(self.run.result.at_event(event, "contact.multiplier")[1]) for event in self._touched)

    @property
    def peak(self) -> float:
        """Largest contact force, N, at contacts and rows; 0 without contact."""
        return max(*self.impacts, float(np.max(self["contact.multiplier"])), 0.0) if self.impacts else 0.0

    @property
    def holding_force(self) -> float:
        """Contact force at the end, N."""
        return float(self["contact.multiplier"][-1])

    @property
    def displacement(self) -> float:
        """Largest distance of the brick from its place, m."""
        return float(np.max(np.abs(self["displacement.y"])))

    @cached_property
    def slips(self) -> tuple[float, ...]:
        """Times at which the brick began to slip, s."""
        events = self.run.result.events
        return tuple(event.time for event in events if event.name == "table" and "slips" in event.kind)

    @property
    def bounces(self) -> int:
        """How often the finger came away from the brick."""
        return max(len(self.contacts) - 1, 0)

    def summary(self) -> dict[str, Any]:
        """The figures of the touch, for files: times in s, forces in N, gains as in `TouchPlan`."""
        gains = self.design.gains
        return {
            "ok": self.run.ok,
            "contacts": list(self.contacts),
            "impact_forces": list(self.impacts),
            "peak_force": self.peak,
            "held_force": self.holding_force,
            "brick_displacement": self.displacement,
            "slips": list(self.slips),
            "approach_speed": self.design.speed,
            "Lambda_xx": float(self.design.Lambda[0, 0]),
            "kd": gains.kd,
            "kp0": gains.kp0,
            "alpha1": float(self["contact.alpha1"]),
            "alpha0": float(self["contact.alpha0"]),
        }

    @property
    def in_contact(self) -> np.ndarray:
        """(k,) whether the contact holds, row by row."""
        return np.asarray(self["touch.mode"] == 1.0)
