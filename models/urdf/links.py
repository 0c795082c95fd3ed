"""Links: what is kept of a robot and the records of yourdfpy in; the links of a tree with screws and inertias out.

All links stay as frames, also those that are fixed to others, so that every name of the file can be asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from screwbond.models.chains import BEFORE, Link
from screwbond.models.urdf.grammar import Ignored
from screwbond.models.urdf.inertias import inertias_of, pose_of
from screwbond.models.urdf.joints import RobotJoint, bounds_of, limit_problems, mimic_of, robot_joint, screws_of, unused_fields
from screwbond.models.urdf.skeleton import SelectedTree

from bondgraph.errors import Problem
from screws.joints import fixed, free


@dataclass(frozen=True, eq=False)
class TreeLinks:
    """Links and moving joints in the order of the tree, what of them is ignored, and what is wrong."""

    links: tuple[Link, ...] = ()
    joints: tuple[RobotJoint, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def links_of(selected: SelectedTree, parsed: Any, invalid_inertias: frozenset[str], *, limits: bool, floating: bool) -> TreeLinks:
    """Links of a tree from what is kept of a robot; `parsed`: its record of yourdfpy, `invalid_inertias`: links of unknown inertia."""
    records = {joint.name: joint for joint in parsed.joints}
    home_poses = {selected.base: np.eye(4)}
    for joint in selected.joints:
        home_poses[joint.child] = home_poses[joint.parent] @ pose_of(records[joint.name])
    inertias, problems = inertias_of(selected, {link.name: link.inertial for link in parsed.links}, home_poses, invalid_inertias, floating)
    links = [Link(selected.base, free() if floating else fixed(), inertias.get(selected.base), parent=None)]
    joints = [RobotJoint(selected.base, "floating", selected.base)] if floating else []
    ignored: list[Ignored] = []
    for joint in selected.joints:
        record = records[joint.name]
        screws, screw_errors = screws_of(selected, joint, record, home_poses[joint.child])
        bounds, limit_errors, missing_limits = bounds_of(selected, joint, record) if limits else (None, [], ())
        mimic, mimic_errors = mimic_of(selected, joint, record)
        problems += [*screw_errors, *limit_errors, *mimic_errors]
        ignored += missing_limits
        if screws is not None:
            damping = float(getattr(record.dynamics, "damping", None) or 0.0)
            inertia, at = inertias.get(joint.child), home_poses[joint.child]
            links.append(Link(joint.child, screws, inertia, at, damping, bounds, parent=joint.parent, mimic=mimic))
            joints += [robot_joint(joint, record)] if joint.moves else []
    problems += [] if problems else limit_problems(selected, links)
    if selected.serial:
        # What is fixed to a body is carried by any part of it, the one before among them.
        links = [replace(link, parent=BEFORE) for link in links]
    return TreeLinks(tuple(links), tuple(joints), (*ignored, *unused_fields(selected, joints, limits)), tuple(problems))
