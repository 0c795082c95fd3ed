"""The hand as an interactive page: one contact as the two bodies of the page, the rest of the hand as its companions."""

from __future__ import annotations

import os
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from models.hand.graphs.whole_hand import OBJECT, TIP, contact_name, finger_name
from models.hand.grasping.skeleton import along, skeleton
from models.hand.studies.course import Study
from models.hand.studies.run import HandRun
from models.pictures.companions import Companion, cylinder, globe, joined, shifted
from models.pictures.meshes import path_tube
from models.pictures.motion import ContactMotion, Event, poses
from models.pictures.pages import page
from models.pictures.style import BODIES, PATHS
from models.two_bodies.trajectory import contact_trajectory
from screws.surfaces import sphere

Array = NDArray[np.float64]

SAMPLES = 300
"""Most samples of a run that its page holds."""

TIPS, HELD = 1, 0
"""Which of the two colours tips and object have, in the page as in the stills."""

LINK, JOINT, PALM = "#ccd4df", "#98a5b8", "#e3e7ee"


def hand_page(run: HandRun, grasp: Study, path: str | os.PathLike[str], until: float) -> None:
    """Write the page up to a time (s); its plots and labels are of the contact that needs most friction."""
    chosen = int(np.argmax(np.max(np.nan_to_num(grasp.required, nan=-1.0), axis=0)))
    last = int(np.searchsorted(run.result.t, until, side="right"))
    pick = np.unique(np.linspace(0, last - 1, min(SAMPLES, last)).round().astype(int))
    motion, others = contact_motion(run, chosen, pick), companions(run, chosen, pick)
    page(motion, path, seconds=float(np.clip(until, 6.0, 12.0)), companions=others, colours=(TIPS, HELD))


def contact_motion(run: HandRun, finger: int, pick: NDArray[np.int64]) -> ContactMotion:
    """One contact of the hand at some samples, as the record of two bodies: tip and object."""
    given, result = run.hand.parameters, run.result
    bodies, name = (f"{finger_name(finger)}.{TIP}", OBJECT), contact_name(finger)
    surfaces = (sphere(given.tip_radius), given.surface)
    arrays = {key: values[pick] for key, values in contact_trajectory(result, bodies, surfaces, name).items()}
    wanted = {field.name for field in fields(ContactMotion)} - {"surface1", "surface2", "energies"}
    ledger = result.ledger
    energies = {"stored": ledger.stored, "dissipated": ledger.dissipated + ledger.lost, "less supplied": -ledger.supplied}
    return ContactMotion(
        name=f"plots: finger {finger}",
        title=run.title,
        surface1=surfaces[0],
        surface2=surfaces[1],
        energies={key: values[pick] for key, values in energies.items()},
        events=tuple(Event(e.time, e.kind, e.internal) for e in result.events if e.name.startswith(f"{name}.")),
        names=(f"tip of finger {finger}", "object"),
        **{key: values for key, values in arrays.items() if key in wanted},
    )


def companions(run: HandRun, chosen: int, pick: NDArray[np.int64]) -> list[Companion]:
    """Palm, links, the other tips with their contacts, and the frames of reference and virtual object."""
    given, arrays = run.hand.parameters, {key: values[pick] for key, values in run.trajectory.items()}
    places = skeleton(given, arrays["joints"])
    still = np.broadcast_to(np.eye(4), (len(pick), 4, 4))
    unit = float(np.ptp(np.asarray(given.surface.grid(9, 13)).reshape(-1, 3), axis=0).max())
    held = poses(arrays["object"][:, 4:], arrays["object"][:, :4])
    bases = [shifted(cylinder(1.5 * given.link_radius, -0.0035, 0.0005), place) for place in given.bases]
    found = [
        Companion(still, cylinder(given.base_radius + 2.6 * given.link_radius, -0.009, -0.003, 96), PALM),
        Companion(still, joined(*bases), JOINT),
    ]
    for i in range(given.fingers):
        for j, length in enumerate(given.link_lengths):
            start, end = places[:, i, j], places[:, i, j + 1]
            pose = along((end - start) / length, start)
            rod = cylinder(given.link_radius, 0.0, length)
            found.append(Companion(pose, joined(rod, globe(given.link_radius, length)) if j == 3 else rod, LINK))
            if j:
                found.append(Companion(pose, globe(1.25 * given.link_radius), JOINT))
        if i == chosen:
            continue
        found.append(Companion(arrays["tips"][:, i], globe(given.tip_radius, rings=22), BODIES[TIPS], glass=True))
        for body, pose in enumerate((arrays["tips"][:, i], held)):
            frames = arrays[("frames1", "frames2")[body]][:, i]
            normals = np.einsum("kji,kj->ki", pose[:, :3, :3], frames[:, :3, 2])
            thick = np.where(arrays["gap"][:, i] < 0.0, 0.0005, 0.0002)
            tube = path_tube(arrays[("points1", "points2")[body]][:, i], normals, thick)
            found.append(Companion(pose, tube, PATHS[(TIPS, HELD)[body]], path=True))
            found.append(Companion(frames, axes=(0.16 * unit, 0.006 * unit)))
        found.append(Companion(arrays["frames2"][:, i], force=arrays["forces"][:, i]))
    for name, text, length in (("reference", "reference", 0.53), ("virtual", "virtual object", 0.42)):
        pose = poses(arrays[name][:, 4:], arrays[name][:, :4])
        found.append(Companion(pose, axes=(length * unit, 0.0075 * unit), name=text))
    return found
