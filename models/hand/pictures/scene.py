"""3-D scene of a hand's run: fingers, palm, tips and object with their contacts, and the frames of the controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from screwbond.models.hand.graphs.whole_hand import GRASP, OBJECT, TIP, finger_name
from screwbond.models.hand.grasping.grasp import skeleton
from screwbond.models.hand.parameters import HandParameters
from screwbond.models.hand.studies.run import HandRun
from screwbond.models.pictures import EventMark, Frame, Look, Scene, Solid, scene_of
from screwbond.models.pictures.from_results.energies import balance_panels
from screwbond.models.pictures.interpolation import Array, poses, unrotated_poses
from screwbond.models.pictures.shapes.meshes import Mesh, along, cylinder, globe, joined
from screwbond.models.pictures.style import AMBER, AXES, BLUE, MUTED

LINK, JOINT, PALM = "#ccd4df", "#98a5b8", "#eef1f5"
VIEW, UP = np.array([0.30, -0.88, 0.34]), np.array([0.0, 0.0, 1.0])
FRAMES = {"reference": (1.25, 0.6), "virtual": (1.0, 0.9), "object": (0.75, 1.2)}
"""Frame of the trajectory -> length and thickness of its axes, relative to those of the virtual object."""

NAMES = {"reference": "reference", "virtual": "virtual object", "object": "object"}


def hand_scene(run: HandRun, finger: int = 0) -> Scene:
    """Return the scene of a run up to `display_end`, with a panel of the contact coordinates of one finger."""
    parameters, arrays = run.hand.parameters, run.trajectory
    tips = {f"{finger_name(i)}.{TIP}": f"tip {i}" for i in range(parameters.fingers)}
    colours = {OBJECT: AMBER, **dict.fromkeys(tips, BLUE)}
    base_scene = scene_of(run.result, run.title, names={OBJECT: "object", **tips}, colours=colours)
    (object_index,) = {contact.solids[1] for contact in base_scene.contacts}
    solids = [replace(solid, called="the tips", ghosts=None) for solid in base_scene.solids[: parameters.fingers + 1]]
    solids[object_index] = replace(solids[object_index], called="the object", ghosts=run.time_of_loss())
    contacts = tuple(replace(contact, pushing=True, show_gap=False, mark=None) for contact in base_scene.contacts)
    gaps, forces, *coordinates = base_scene.panels[: 2 + parameters.fingers]
    ledger = run.result.ledger
    energies = {"stored": ledger.stored, "dissipated": ledger.dissipated + ledger.lost, "less supplied": -ledger.supplied}
    end = display_end(run)
    scene = replace(
        base_scene,
        solids=(*solids, *palm_and_links(parameters, skeleton(parameters, arrays["joints"]))),
        contacts=contacts,
        # The controller's springs join frames that lie in one another: they would hide them.
        springs=(),
        frames=(*_frames(run), *_finger_numbers(run)),
        panels=(gaps, forces, coordinates[finger], *balance_panels(energies, None)),
        event_marks=hand_event_marks(run),
        name="",
        size=0.75 * solids[object_index].size,
        view=VIEW,
        up=UP,
        slow_motion=_loss_interval(run, end),
    )
    return scene.at_times(scene.t[scene.t <= end])


def palm_and_links(parameters: HandParameters, positions: Array) -> list[Solid]:
    """Return palm and links as solids, from the positions (k, n, 5, 3) of their joints."""
    identity_poses = unrotated_poses(np.zeros((len(positions), 3)))
    radius = parameters.link_radius
    palm = cylinder(parameters.base_radius + 2.6 * radius, -0.009, -0.003, 96).painted(PALM)
    bases = [cylinder(1.5 * radius, -0.0035, 0.0005, 40).at(*base).painted(JOINT) for base in parameters.bases]
    solids = [Solid("palm", identity_poses, joined(palm, *bases), look=Look.OPAQUE)]
    for j, length in enumerate(parameters.link_lengths):
        link = _link(radius, length, knuckle=j > 0, cap=j == 3)
        for i in range(parameters.fingers):
            start, end = positions[:, i, j], positions[:, i, j + 1]
            solids.append(Solid(f"link {j + 1} of finger {i}", along(end - start, start), link, look=Look.OPAQUE))
    return solids


def _link(radius: float, length: float, knuckle: bool, cap: bool) -> Mesh:
    """Return a rod along z, optionally with a joint at its start and a round end."""
    parts = [cylinder(radius, 0.0, length, 40).painted(LINK)]
    if knuckle:
        parts.append(globe(1.25 * radius).painted(JOINT))
    if cap:
        parts.append(globe(radius, length).painted(LINK))
    return joined(*parts)


def _frames(run: HandRun) -> list[Frame]:
    """Return the frames of reference, virtual object and object; only the last has no label."""
    frames = []
    for name, (length, thickness) in FRAMES.items():
        rows = run.trajectory[name]
        label = ("", "") if name == "object" else (NAMES[name], "")
        frames.append(Frame(poses(rows[:, 4:], rows[:, :4]), 1.87 * length, 1.2 * thickness, label))
    return frames


def _finger_numbers(run: HandRun) -> list[Frame]:
    """Return frames without axes that label the bases with the numbers of the fingers."""
    count, bases = len(run.result.t), run.hand.parameters.bases
    return [Frame(unrotated_poses(np.tile(base, (count, 1))), 0.0, label=(str(i), "")) for i, base in enumerate(bases)]


def hand_event_marks(run: HandRun) -> tuple[EventMark, ...]:
    """Return the labels of all events with their part; those of the grasp are red."""
    marks = []
    for event in run.events():
        where, colour = ("", AXES[0]) if event["where"] == GRASP else (f", {event['where']},", MUTED)
        marks.append(EventMark(event["time"], f"{event['kind']}{where} at {event['time']:.3f} s", event["internal"], colour))
    return tuple(marks)


def display_end(run: HandRun) -> float:
    """Return the end of the scene, s: of a lost object when it is one and a half diameters away."""
    lost, arrays = run.time_of_loss(), run.trajectory
    if lost is None:
        return float(arrays["t"][-1])
    first = int(np.searchsorted(arrays["t"], lost))
    distance = np.linalg.norm(arrays["object"][:, 4:] - arrays["object"][min(first, len(arrays["t"]) - 1), 4:], axis=1)
    size = float(np.ptp(run.hand.parameters.surface.grid(17, 17).reshape(-1, 3), axis=0).max())
    beyond = np.flatnonzero((distance > 1.5 * size) & (arrays["t"] > lost))
    return float(arrays["t"][beyond[0] if len(beyond) else -1])


def _loss_interval(run: HandRun, end: float) -> tuple[tuple[float, float], ...]:
    """Return the interval of slow motion around a loss, s; none without a loss."""
    lost = run.time_of_loss()
    return () if lost is None else ((max(0.0, min(lost, end) - (end - lost) - 0.1), end),)
