"""A hand's run as a scene: fingers, palm, tips and object with their contacts, and the frames that the controller moves."""

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
"""Frame of the trajectory -> length and thickness of its axes over those of the virtual object."""

NAMES = {"reference": "reference", "virtual": "virtual object", "object": "object"}


def hand_scene(run: HandRun, finger: int = 0) -> Scene:
    """The run up to the time at which a lost object is away; of one finger the coordinates of its contact are plotted."""
    given, arrays = run.hand.parameters, run.trajectory
    tips = {f"{finger_name(i)}.{TIP}": f"tip {i}" for i in range(given.fingers)}
    colours = {OBJECT: AMBER, **dict.fromkeys(tips, BLUE)}
    filled = scene_of(run.result, run.title, names={OBJECT: "object", **tips}, colours=colours)
    (held,) = {touch.solids[1] for touch in filled.contacts}
    solids = [replace(solid, called="the tips", ghosts=None) for solid in filled.solids[: given.fingers + 1]]
    solids[held] = replace(solids[held], called="the object", ghosts=run.time_of_loss())
    touches = tuple(replace(touch, pushing=True, show_gap=False, mark=None) for touch in filled.contacts)
    gaps, forces, *coordinates = filled.panels[: 2 + given.fingers]
    ledger = run.result.ledger
    energies = {"stored": ledger.stored, "dissipated": ledger.dissipated + ledger.lost, "less supplied": -ledger.supplied}
    until = shown_until(run)
    scene = replace(
        filled,
        solids=(*solids, *machine(given, skeleton(given, arrays["joints"]))),
        contacts=touches,
        # The controller's springs join frames that lie in one another: they would hide them.
        springs=(),
        frames=(*_frames(run), *_numbers(run)),
        panels=(gaps, forces, coordinates[finger], *balance_panels(energies, None)),
        event_marks=happenings(run),
        name="",
        size=0.75 * solids[held].size,
        view=VIEW,
        up=UP,
        slow_motion=_loss(run, until),
    )
    return scene.at_times(scene.t[scene.t <= until])


def machine(given: HandParameters, places: Array) -> list[Solid]:
    """Palm and links, whose joints are at places (k, n, 5, 3)."""
    rest = unrotated_poses(np.zeros((len(places), 3)))
    radius = given.link_radius
    palm = cylinder(given.base_radius + 2.6 * radius, -0.009, -0.003, 96).painted(PALM)
    bases = [cylinder(1.5 * radius, -0.0035, 0.0005, 40).at(*base).painted(JOINT) for base in given.bases]
    found = [Solid("palm", rest, joined(palm, *bases), look=Look.OPAQUE)]
    for j, length in enumerate(given.link_lengths):
        link = _link(radius, length, knuckle=j > 0, cap=j == 3)
        for i in range(given.fingers):
            start, end = places[:, i, j], places[:, i, j + 1]
            found.append(Solid(f"link {j + 1} of finger {i}", along(end - start, start), link, look=Look.OPAQUE))
    return found


def _link(radius: float, length: float, knuckle: bool, cap: bool) -> Mesh:
    """A rod along z, with the joint at its start and a round end where it has them."""
    parts = [cylinder(radius, 0.0, length, 40).painted(LINK)]
    if knuckle:
        parts.append(globe(1.25 * radius).painted(JOINT))
    if cap:
        parts.append(globe(radius, length).painted(LINK))
    return joined(*parts)


def _frames(run: HandRun) -> list[Frame]:
    """The frames of reference, virtual object and object, named but for the last."""
    found = []
    for name, (length, thickness) in FRAMES.items():
        rows = run.trajectory[name]
        label = ("", "") if name == "object" else (NAMES[name], "")
        found.append(Frame(poses(rows[:, 4:], rows[:, :4]), 1.87 * length, 1.2 * thickness, label))
    return found


def _numbers(run: HandRun) -> list[Frame]:
    """Numbers of the fingers beside their bases."""
    count, bases = len(run.result.t), run.hand.parameters.bases
    return [Frame(unrotated_poses(np.tile(base, (count, 1))), 0.0, label=(str(i), "")) for i, base in enumerate(bases)]


def happenings(run: HandRun) -> tuple[EventMark, ...]:
    """What happened where, in words; what happened to the grasp as a whole in red."""
    told = []
    for event in run.events():
        where, colour = ("", AXES[0]) if event["where"] == GRASP else (f", {event['where']},", MUTED)
        told.append(EventMark(event["time"], f"{event['kind']}{where} at {event['time']:.3f} s", event["internal"], colour))
    return tuple(told)


def shown_until(run: HandRun) -> float:
    """End of what is worth seeing, s: a lost object until it is one and a half diameters away."""
    lost, arrays = run.time_of_loss(), run.trajectory
    if lost is None:
        return float(arrays["t"][-1])
    first = int(np.searchsorted(arrays["t"], lost))
    away = np.linalg.norm(arrays["object"][:, 4:] - arrays["object"][min(first, len(arrays["t"]) - 1), 4:], axis=1)
    size = float(np.ptp(run.hand.parameters.surface.grid(17, 17).reshape(-1, 3), axis=0).max())
    far = np.flatnonzero((away > 1.5 * size) & (arrays["t"] > lost))
    return float(arrays["t"][far[0] if len(far) else -1])


def _loss(run: HandRun, until: float) -> tuple[tuple[float, float], ...]:
    """The time of a loss, from shortly before."""
    lost = run.time_of_loss()
    return () if lost is None else ((max(0.0, min(lost, until) - (until - lost) - 0.1), until),)
