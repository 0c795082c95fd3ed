"""A scene on an off-screen window: a scene, a time and a camera in; pixels out. Needs pyvista."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.camera import Camera
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Force, Frame, Look, SpringDrawing, Trail
from screwbond.models.pictures.scene import Scene
from screwbond.models.pictures.shapes.coils import helix, stretched
from screwbond.models.pictures.shapes.meshes import polyline
from screwbond.models.pictures.shapes.tubes import path_tube
from screwbond.models.pictures.stage import actors
from screwbond.models.pictures.stage.ghosts import ghost_samples
from screwbond.models.pictures.style import INK
from screwbond.models.pictures.timing import SPACING

GAUSS = 0.30
"""Length of a Gauss frame's axes over the scene's unit."""

RADIUS = 0.011
"""Radius of a Gauss frame's axes over the scene's unit."""

TUBE = 0.8
"""Radius of a path over that."""

SLENDER = 0.15
"""Most radius of a helix over its length."""

RINGS = 4000
"""Most rings of a tube."""


class Stage:
    """Actors of a scene, while its context is open.

    Parameters
    ----------
    scene : what is shown.
    size : (width, height) of the window in pixels.
    background : colour, and colour at the top.
    fine : scale of triads, tubes and arrows (1: made for a view of all solids).
    ghosts : how many earlier poses of each solid that has ghosts are shown.
    longer : length of frames besides.
    around : whether ghosts show later poses too.
    mesh : points of a surface's mesh along u and v, multiples of 8 and of 12, plus 1.
    seen : whether the window is one on the screen.
    """

    def __init__(
        self,
        scene: Scene,
        size: tuple[int, int],
        background: tuple[str, str] = ("#e9edf3", "#ffffff"),
        *,
        fine: float = 1.0,
        ghosts: int = 5,
        longer: float = 1.0,
        around: bool = False,
        mesh: tuple[int, int] = (65, 97),
        seen: bool = False,
    ):
        scene.need("solids, frames or paths", scene.solids, scene.all_frames, scene.all_paths, scene.springs)
        self.scene, self.size, self.around = scene, size, around
        self.radius = RADIUS * scene.unit * fine
        self.axis = GAUSS * scene.unit * fine * longer
        self.plotter = actors.plotter(size, background, seen)
        self.meshes = [scene.mesh(i, *mesh) for i in range(len(scene.solids))]
        self._ghosts = [
            [self._glass(i, 0.02, 0.75, 0.8 ** (age + 1)) for age in range(ghosts if solid.ghosts is not None else 0)]
            for i, solid in enumerate(scene.solids)
        ]
        self._solids = [self._solid(i) for i in range(len(scene.solids))]
        self._triads = [self._triad(frame) for frame in scene.all_frames]
        self._tubes = [self._tube(path) for path in scene.all_paths]
        self._arrows = [actors.Arrow(self.plotter, 0.62 * self.radius) for _ in scene.all_forces]
        self._strings = [
            actors.lines(self.plotter, polyline(np.zeros((2, 3))), INK, 1.5, 1.0) if touch.show_gap else None
            for touch in scene.contacts
        ]
        self._coils = [
            actors.opaque(self.plotter, helix(coil.length, self._wound(coil), coil.turns), coil.colour) for coil in scene.springs
        ]
        self._order: list[int] = []

    def _wound(self, coil: SpringDrawing) -> float:
        """Radius of a helix, m: no wide ring of a spring between frames that hardly part."""
        return min(coil.radius * self.scene.unit, SLENDER * coil.length)

    def _glass(self, index: int, low: float, high: float, strength: float = 1.0) -> Any:
        """An actor of a solid whose middle is clear and whose rim is not."""
        solid = self.scene.solids[index]
        low, high = (0.4, 0.4) if solid.unbounded else (low, high)
        return actors.glass(self.plotter, self.meshes[index], solid.colour, low, high, strength)

    def _solid(self, index: int) -> list[Any]:
        """Actors of a solid and of its lines."""
        solid, mesh = self.scene.solids[index], self.meshes[index]
        if solid.look is Look.GLASS:
            found = [self._glass(index, 0.20, 0.95)]
        else:
            draw = {Look.OPAQUE: actors.opaque, Look.VEIL: actors.veil, Look.WALL: actors.wall}[solid.look]
            found = [draw(self.plotter, mesh, solid.colour)]
        if len(mesh.lines):
            width = max(1.0, self.size[1] / 800)
            opacity = 0.4 if solid.look is Look.GLASS else 0.6
            found.append(actors.lines(self.plotter, mesh, solid.line_colour, width, opacity))
        return found

    def _triad(self, frame: Frame) -> Any:
        return actors.triad(self.plotter, self.axis * frame.length, self.radius * frame.thickness) if frame.length else None

    def _tube(self, path: Trail) -> tuple[actors.Tube, Array]:
        """The actors of a path, and the times of its rings."""
        t = self.scene.t
        pick = np.unique(np.linspace(0, len(t) - 1, min(len(t), RINGS)).astype(int))
        thick = TUBE * self.radius * np.broadcast_to(path.thick, len(t))[pick]
        mesh = path_tube(path.points[pick], path.normals[pick], thick)
        if path.ahead:
            actors.lines(self.plotter, polyline(path.points), path.colour, self.size[1] / 700, 0.35)
        return actors.Tube(self.plotter, mesh, path.colour, TUBE * self.radius), t[pick]

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.plotter.close()

    def arrow(self, force: Force) -> tuple[Array, Array] | None:
        """Start and tip (3,) of the arrow of a force of one sample; None where it is too small to be drawn."""
        vector = force.newtons[0] / self.scene.scale[0]
        if np.linalg.norm(vector) <= 1.2 * 9.0 * 0.62 * self.radius:
            return None
        return (force.points[0] - vector, force.points[0]) if force.pushing else (force.points[0], force.points[0] + vector)

    def show(self, t: float, camera: Camera) -> Scene:
        """Move everything to a time (s), seen from a camera; the scene at that time."""
        now = self.move(t, camera)
        self._look(camera)
        return now

    def move(self, t: float, camera: Camera) -> Scene:
        """Move everything to a time (s); the scene at that time. The camera says what is in front, and stays where it is."""
        now = self.scene.at_times([t])
        poses = [solid.poses[0] for solid in now.solids]
        for group, pose in zip(self._solids, poses, strict=True):
            for actor in group:
                actor.user_matrix = pose
        for actor, frame in zip(self._triads, now.all_frames, strict=True):
            if actor is not None:
                actor.user_matrix = frame.poses[0]
                actor.visibility = frame.shown is None or bool(frame.shown[0])
        for (tube, times), path in zip(self._tubes, now.all_paths, strict=True):
            rings = int(np.searchsorted(times, t, side="right"))
            tube.show(rings, np.eye(4) if path.on is None else poses[path.on], path.points[0])
        for arrow, force in zip(self._arrows, now.all_forces, strict=True):
            arrow.show(*(self.arrow(force) or (force.points[0], force.points[0])))
        self._show_strings(now)
        for coil, whole, part in zip(self._coils, self.scene.springs, now.springs, strict=True):
            coil.user_matrix = stretched(part.starts, part.ends, whole.length)[0]
        for index, ghosts in enumerate(self._ghosts):
            shown = [*self.ghost_poses(index, t), *[None] * len(ghosts)]
            for actor, ghost in zip(ghosts, shown, strict=False):
                actor.visibility = ghost is not None
                if ghost is not None:
                    actor.user_matrix = ghost
        self._sort(now, camera)
        return now

    def ghost_samples(self, index: int, t: float) -> list[int]:
        """Samples at which a solid is shown once more at a time (s), nearest first."""
        solid = self.scene.solids[index]
        if solid.ghosts is None:
            return []
        count, spacing = len(self._ghosts[index]), SPACING * self.scene.stride
        return ghost_samples(solid.poses, self.scene.t, t, count, spacing, self.around, solid.ghosts)

    def ghost_poses(self, index: int, t: float) -> Array:
        """Poses (j, 4, 4) of a solid's ghosts at a time (s), nearest first."""
        return self.scene.solids[index].poses[self.ghost_samples(index, t)]

    def _show_strings(self, now: Scene) -> None:
        """Lines between the closest points of solids that are apart."""
        import pyvista as pv

        for string, touch in zip(self._strings, now.contacts, strict=True):
            if string is not None:
                ends = np.stack([H[0, :3, 3] for H in touch.frames])
                string.visibility = bool(np.linalg.norm(ends[1] - ends[0]) > 0.02 * self.scene.unit)
                if string.visibility:
                    string.mapper.SetInputData(pv.lines_from_points(ends))

    def _sort(self, now: Scene, camera: Camera) -> None:
        """Draw the glass that is nearer last: VTK paints translucent actors in the order of the renderer's list."""
        solids = self.scene.solids
        clear = [i for i, solid in enumerate(solids) if solid.look not in (Look.OPAQUE, Look.WALL)]
        order = painting_order(now, camera, clear)
        if order == self._order:
            return  # an actor that is taken out and put back is sent to the renderer anew
        self._order = order
        layers = [self._solids[i] for i in order]
        # What is above a ground must not be painted before it, and the viewer is above.
        grounds = next((k for k, i in enumerate(order) if not solids[i].unbounded), len(order))
        layers.insert(grounds, [ghost for ghosts in self._ghosts for ghost in ghosts])
        renderer = self.plotter.renderer
        for actor in (actor for layer in layers for actor in layer):
            renderer.RemoveViewProp(actor)
            renderer.AddViewProp(actor)

    def _look(self, camera: Camera) -> None:
        view = self.plotter.camera
        view.position, view.focal_point, view.up = camera.eye, camera.centre, camera.up
        view.view_angle = camera.angle
        view.SetWindowCenter(-camera.shift[0], -camera.shift[1])
        distance = float(np.linalg.norm(camera.eye - camera.centre))
        view.clipping_range = (0.02 * distance, 6.0 * distance)

    def image(self) -> NDArray[np.uint8]:
        """Render the window, (height, width, 3)."""
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(return_img=True))[..., :3]

    def outline(self, times: Iterable[float]) -> Array:
        """World points (j, 3) that outline everything that a camera must see at some times (s), ghosts and arrows too."""
        times = list(times)
        there = self.scene.t <= max(times)
        # Of a path in the world with a name, the legend speaks.
        points = [path.points for path in self.scene.all_paths if path.ahead]
        points += [path.points[there] for path in self.scene.paths if path.on is None and path.label and not path.ahead]
        now = self.scene.at_times(times)
        for i, (solid, mesh) in enumerate(zip(now.solids, self.meshes, strict=True)):
            if solid.framed:
                ghosts = self.ghost_poses(i, times[0]) if len(times) == 1 else np.zeros((0, 4, 4))
                points += [mesh.outline @ H[:3, :3].T + H[:3, 3] for H in (*solid.poses, *ghosts)]
        for frame in now.frames:
            tips = frame.poses[:, :3, 3, None] + self.axis * frame.length * frame.poses[:, :3, :3]
            points.append(np.swapaxes(tips, 1, 2).reshape(-1, 3))
        points += [end for coil in now.springs for end in (coil.starts, coil.ends)]
        for force in now.all_forces:
            points.append(force.points + (-1.0 if force.pushing else 1.0) * force.newtons / self.scene.scale[0])
        return np.vstack(points)


def painting_order(now: Scene, camera: Camera, indices: Sequence[int]) -> list[int]:
    """Solids of a scene of one sample, what is behind first: of two that touch, the tangent plane tells which that is; of others,
    the distance of their origins."""
    away = {i: float(np.linalg.norm(now.solids[i].poses[0, :3, 3] - camera.eye)) for i in indices}
    behind = set()
    for touch in now.contacts:
        plane = touch.frames[0][0]
        second_in_front = float((camera.eye - plane[:3, 3]) @ plane[:3, 2]) > 0.0
        behind.add(touch.solids if second_in_front else touch.solids[::-1])
    left = sorted(away, key=lambda i: -away[i])
    order = []
    while left:
        # Three that lie round each other have no order: then the farthest comes first.
        found = next((i for i in left if not any((other, i) in behind for other in left)), left[0])
        left.remove(found)
        order.append(found)
    return order
