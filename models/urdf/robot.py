"""Record of a robot: tree of links, joints, visuals, and ignored elements of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.chains import Tree
from screwbond.models.urdf.document import Ignored
from screwbond.models.urdf.joints import RobotJoint
from screwbond.models.urdf.link_visuals import LinkVisual

from bondgraph.errors import Problem, caller_place, raise_if_any, refusal
from bondgraph.output.short_repr import short_repr
from screws.numeric_arguments import floats
from screws.renamed import answer_old_names


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Robot:
    """Robot of a URDF file.

    Attributes
    ----------
    tree : its links, each under its name in the file; fixed links are massless frames, their inertia belongs to the moving link
        before them. Joint coordinates have the names of their child links. A `Chain` if no body carries two others.
    joints : moving joints, in the order of the links; the free joint of a floating base has the name of its link.
    visuals : meshes of the links; none with `meshes=False`.
    ignored : ignored elements of the file, with reasons.

    `print(robot)` shows all of it as a table.
    """

    tree: Tree
    joints: tuple[RobotJoint, ...]
    visuals: tuple[LinkVisual, ...] = ()
    ignored: tuple[Ignored, ...] = ()

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.tree.name

    def position(self, values: Mapping[str, Any]) -> np.ndarray:
        """Return joint coordinates (n,), rad or m, from values by joint names; zero for other joints.

        A joint with several degrees of freedom takes as many values; a mimic joint takes none. Raises `ModelError` E529 for an
        unknown joint or invalid values.
        """
        q = np.zeros(self.tree.freedoms)
        indices = self.coordinates
        problems = []
        if not isinstance(values, Mapping):
            cure = f'robot.position({{"{next(iter(indices), "joint")}": 0.1}}), or an array of {self.tree.freedoms} coordinates'
            raise refusal("E529", f"positions of joints are {values!r}, without names", cure, about=self.name)
        for name, value in values.items():
            if name not in indices:
                leader = {joint.name: joint.leader for joint in self.joints}.get(name)
                title = (
                    f'joint "{name}" follows joint "{leader}"' if leader else f'robot "{self.name}" has no moving joint "{name}"'
                )
                problems.append(Problem("E529", title, (), (caller_place(),), (f"one of: {', '.join(indices)}",)))
                continue
            n = len(indices[name])
            numbers = floats(value, (n,), *(((),) if n == 1 else ()))
            if numbers is None:
                cure = "a finite number, rad or m" if n == 1 else f"{n} finite numbers"
                title = f'the position of joint "{name}" is {value!r}'
                problems.append(Problem("E529", title, (), (caller_place(),), (cure,)))
            else:
                q[indices[name]] = numbers
        raise_if_any(self.name, problems)
        return q

    @cached_property
    def coordinates(self) -> dict[str, list[int]]:
        """Joint -> its indices among the coordinates; mimic joints have none."""
        indices: dict[str, list[int]] = {}
        start = 0
        for joint in self.joints:
            if not joint.leader:
                n = self.tree.links[self.tree.index(joint.link)].joint.freedoms
                indices[joint.name] = list(range(start, start + n))
                start += n
        return indices

    def __str__(self) -> str:
        bodies = [link.inertia.mass for link in self.tree.links if link.inertia is not None]
        counts = ((len(self.joints), "moving joint"), (self.tree.freedoms, "coordinate"), (len(self.tree.links), "link"))
        head = f"{self.name}: " + "".join(f"{count} {what}{'s' if count != 1 else ''}, " for count, what in counts)
        rows = [("joint", "kind", "moves", "limits", "damping", "effort", "velocity", "follows"), *map(self._row, self.joints)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines = ["ignored:", *(f"  {item}" for item in self.ignored)] if self.ignored else ["nothing is ignored"]
        return "\n".join([f"{head}{sum(bodies):.6g} kg that move", *table, *lines])

    def _row(self, joint: RobotJoint) -> tuple[str, ...]:
        link = self.tree.links[self.tree.index(joint.link)]
        limits = "none" if link.limits is None else f"{link.limits[0]:g} to {link.limits[1]:g}"
        numbers = ("" if value is None else f"{value:g}" for value in (link.damping, joint.effort, joint.velocity))
        return (joint.name, joint.kind, joint.link, limits, *numbers, joint.leader)
