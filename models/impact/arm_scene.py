"""3-D scene of an arm that strikes a wall, with the force on the wall."""

from __future__ import annotations

import os

import numpy as np
from screwbond.models.impact.robot import Striker
from screwbond.models.impact.striking import ImpactRun
from screwbond.models.impact.study import ImpactStudy
from screwbond.models.pictures import Curve, EventMark, Force, Look, Panel, Scene, Solid, still
from screwbond.models.pictures.from_results.links import RodLinks, link_poses
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.shapes.meshes import along, lofted
from screwbond.models.pictures.style import AMBER, BLUE, FORCE, MUTED
from screwbond.models.urdf import visual_solids

SLAB = "#c9cfd9"
LINK_COLOURS = (AMBER[0], BLUE[0])
"""Colours of links in turn from the base outward."""


def strike_scene(striker: Striker, strike: ImpactRun, title: str = "") -> Scene:
    """Return the scene of a strike from shortly before the touch until after the release: arm, wall, and the force on it.

    Without meshes the arm is drawn as rods. The default title has the arm's name and the restitution.
    """
    where, result = striker.striking_point, strike.result
    rods = RodLinks(where.chain, {where.link: [np.asarray(where.point)]}, LINK_COLOURS)
    q = np.asarray(result["arm.mechanism.q"], dtype=float).reshape(len(result.t), -1)
    rest = np.tile(np.eye(4), (len(result.t), 1, 1))
    poses = link_poses(where.chain, q)
    tip = rods.touching(where.link, poses, np.asarray(where.point))
    solids = [*visual_solids(where.chain, striker.visuals, q), tip] if striker.visuals else rods.solids(poses)
    n = np.asarray(striker.normal, dtype=float) / np.linalg.norm(np.asarray(striker.normal, dtype=float))
    outward, contact = where.frame[:3, :3] @ n, where.frame[:3, 3]
    half, thick = 4.5 * rods.radius, 0.6 * rods.radius
    corners = half * np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])
    slab = lofted(corners - [0.0, 0.0, thick], corners)
    solids.append(Solid("wall", rest @ along(outward, contact - 0.6 * rods.radius * outward), slab, SLAB, look=Look.OPAQUE))
    force = np.asarray(result["touch.normal force"], dtype=float)
    arrow = Force(np.tile(contact, (len(force), 1)), -force[:, None] * outward, "on the wall")
    panel = Panel("normal force", "N", (Curve("normal force", force, FORCE),), key=True)
    marks = (EventMark(strike.touch, "touch", colour=MUTED), EventMark(strike.release, "release", colour=MUTED))
    scene_title = title or f"{where.chain.name[:1].upper()}{where.chain.name[1:]} strikes a wall, e = {strike.restitution:.3f}"
    return Scene(
        scene_title,
        np.asarray(result.t),
        tuple(solids),
        forces=(arrow,),
        panels=(panel,),
        event_marks=marks,
        size=8.0 * rods.radius,
        view=_view(outward),
        up=np.array([0.0, 0.0, 1.0]),
        result=result,
    )


def plot_arm(study: ImpactStudy, path: str | os.PathLike[str]) -> None:
    """Write a PNG of the arm at the largest force of its impact with the viscoelastic law."""
    strike = study.impacts["viscoelastic"]
    t, force = strike.force
    still(strike_scene(study.striker, strike), path, strike.touch + float(t[np.argmax(force)]), size=(1600, 1000))


def _view(outward: Array) -> Array:
    """Return the view direction from the side of a wall, a little from above, with the force in sight behind it."""
    up = np.array([0.0, 0.0, 1.0])
    aside = np.cross(outward, up)
    aside = np.array([0.0, 1.0, 0.0]) if np.linalg.norm(aside) < 0.1 else aside
    view = -aside / np.linalg.norm(aside) + 0.12 * outward + 0.2 * up
    return np.asarray(view / np.linalg.norm(view))
