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
from screwbond.models.urdf.joints import RobotJoint, bounds_of, closed, mimic_of, moving, screws_of, unused
from screwbond.models.urdf.skeleton import Kept

from bondgraph.errors import Problem
from screws.joints import fixed, free


@dataclass(frozen=True, eq=False)
class Made:
    """Links and moving joints in the order of the tree, what of them is ignored, and what is wrong."""

    links: tuple[Link, ...] = ()
    joints: tuple[RobotJoint, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()


def links_of(kept: Kept, parsed: Any, unweighed: frozenset[str], *, limits: bool, floating: bool) -> Made:
    """Links of a tree from what is kept of a robot; `parsed`: its record of yourdfpy, `unweighed`: links of unknown inertia."""
    records = {joint.name: joint for joint in parsed.joints}
    home = {kept.base: np.eye(4)}
    for joint in kept.joints:
        home[joint.child] = home[joint.parent] @ pose_of(records[joint.name])
    inertias, problems = inertias_of(kept, {link.name: link.inertial for link in parsed.links}, home, unweighed, floating)
    links = [Link(kept.base, free() if floating else fixed(), inertias.get(kept.base), parent=None)]
    joints = [RobotJoint(kept.base, "floating", kept.base)] if floating else []
    ignored: list[Ignored] = []
    for joint in kept.joints:
        record = records[joint.name]
        screws, wrong = screws_of(kept, joint, record, home[joint.child])
        bounds, closed_in, unsaid = bounds_of(kept, joint, record) if limits else (None, [], ())
        mimic, astray = mimic_of(kept, joint, record)
        problems += [*wrong, *closed_in, *astray]
        ignored += unsaid
        if screws is not None:
            damping = float(getattr(record.dynamics, "damping", None) or 0.0)
            inertia, at = inertias.get(joint.child), home[joint.child]
            links.append(Link(joint.child, screws, inertia, at, damping, bounds, parent=joint.parent, mimic=mimic))
            joints += [moving(joint, record)] if joint.moves else []
    problems += [] if problems else closed(kept, links)
    if kept.serial:
        # What is fixed to a body is carried by any part of it, the one before among them.
        links = [replace(link, parent=BEFORE) for link in links]
    return Made(tuple(links), tuple(joints), (*ignored, *unused(kept, joints, limits)), tuple(problems))
