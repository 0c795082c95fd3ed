"""The three-dimensional part of a hand's pictures: fingers, object, frames, contact paths and forces. Needs pyvista."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.hand.grasping.skeleton import along, skeleton
from models.hand.studies.run import Arrays, HandRun
from models.pictures import meshes
from models.pictures.camera import Camera
from models.pictures.motion import poses
from models.pictures.stage import glass
from models.pictures.style import BODIES, FORCE, INK, PATHS, blend, force_scale
from screws.surfaces import sphere

Array = NDArray[np.float64]

LINK, JOINT, PALM = "#ccd4df", "#98a5b8", "#eef1f5"
FRAMES = {"reference": (1.25, 0.6), "virtual": (1.0, 0.9), "object": (0.75, 1.2)}
"""Frame of the trajectory -> length of its axes and their thickness, over those of the object's frame."""


RINGS = 400
"""Most rings of the tube that shows a path."""

PATH_ARRAYS = ("points1", "points2", "tips", "frames1", "frames2", "gap")


class HandStage:
    """Actors of a hand on an off-screen window; close it, or use it as a context.

    Parameters
    ----------
    run : what moves.
    size : (width, height) of the window in pixels.
    background : colour, and colour at the top.
    fingers : whether links and palm are shown.
    ghosts : how many earlier places of an object that was lost are shown.
    mesh : points of the object's mesh along u and v, multiples of 8 and of 12, plus 1.
    """

    def __init__(
        self,
        run: HandRun,
        size: tuple[int, int],
        background: tuple[str, str] = ("#e9edf3", "#ffffff"),
        *,
        fingers: bool = True,
        ghosts: int = 0,
        mesh: tuple[int, int] = (65, 97),
    ):
        import pyvista as pv
        from vtkmodules.vtkCommonCore import vtkLogger

        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
        self.size, self.arrays, self.given = size, run.trajectory, run.hand.parameters
        self.places = skeleton(self.given, self.arrays["joints"])
        self.poses = {name: poses(rows[:, 4:], rows[:, :4]) for name, rows in _frames_of(self.arrays).items()}
        self.plotter = pv.Plotter(off_screen=True, window_size=list(size), lighting="none")
        self.plotter.render_window.SetMultiSamples(0)
        self.plotter.set_background(background[0], top=background[1])
        for place, intensity in (((-0.6, 1.2, 1.0), 0.62), ((1.2, 0.2, 0.8), 0.26), ((0.1, -1.0, 0.4), 0.26)):
            self.plotter.add_light(pv.Light(position=place, light_type="camera light", intensity=intensity))
        given = self.given
        self.unit = float(np.ptp(np.asarray(given.surface.grid(9, 13)).reshape(-1, 3), axis=0).max())
        largest = float(np.linalg.norm(self.arrays["forces"], axis=2).max())
        self.newtons_per_metre, self.unit_length, self.scale_text = force_scale(largest, max(0.6 * self.unit, 0.0201))
        self.radius = 0.009 * self.unit
        self._links: list[tuple[Any, int, int]] = []
        if fingers:
            self._add_fingers()
        self._frames = {
            name: self._triad(0.42 * self.unit * long, 1.1 * self.radius * thick) for name, (long, thick) in FRAMES.items()
        }
        self._contacts = [[self._triad(0.16 * self.unit, 0.7 * self.radius) for _ in range(2)] for _ in range(given.fingers)]
        count = len(self.arrays["t"])
        self._rings = np.unique(np.linspace(0, count - 1, min(RINGS, count)).round().astype(int))
        self._tubes = [[self._tube(i, body) for body in (0, 1)] for i in range(given.fingers)]
        self._forces = [self._arrow() for _ in range(given.fingers)]
        self._add_glass(ghosts, mesh)
        self._order: list[int] = []

    def _add_fingers(self) -> None:
        import pyvista as pv

        given, add = self.given, self.plotter.add_mesh
        look = {"smooth_shading": True, "ambient": 0.5, "diffuse": 0.68, "specular": 0.12, "reset_camera": False}
        palm = pv.Cylinder(
            center=(0, 0, -0.006),
            direction=(0, 0, 1),
            radius=given.base_radius + 2.6 * given.link_radius,
            height=0.006,
            resolution=96,
        )
        add(palm, color=PALM, **{**look, "smooth_shading": False})
        for i in range(given.fingers):
            base = pv.Cylinder(
                center=tuple(given.bases[i] - (0.0, 0.0, 0.0015)),
                direction=(0, 0, 1),
                radius=1.5 * given.link_radius,
                height=0.004,
                resolution=40,
            )
            add(base, color=JOINT, **{**look, "smooth_shading": False})
            for j, length in enumerate(given.link_lengths):
                rod = pv.Cylinder(
                    center=(0, 0, 0.5 * length), direction=(0, 0, 1), radius=given.link_radius, height=length, resolution=40
                )
                self._links.append((add(rod, color=LINK, **{**look, "smooth_shading": False}), i, j))
                if j:
                    knuckle = pv.Sphere(radius=1.25 * given.link_radius, theta_resolution=32, phi_resolution=32)
                    self._links.append((add(knuckle, color=JOINT, **look), i, j))
                if j == 3:
                    cap = pv.Sphere(radius=given.link_radius, center=(0, 0, length), theta_resolution=32, phi_resolution=32)
                    self._links.append((add(cap, color=LINK, **look), i, j))

    def _triad(self, length: float, radius: float) -> Any:
        mesh = meshes.triad(length, radius)
        return self.plotter.add_mesh(mesh, scalars="rgb", rgb=True, ambient=0.35, diffuse=0.7, specular=0.2, reset_camera=False)

    def _tube(self, finger: int, body: int) -> tuple[Any, Any]:
        """Actor and mesh data of a contact's path on tip (0) or object (1)."""
        arrays = {key: self.arrays[key][self._rings] for key in PATH_ARRAYS}
        points = arrays[("points1", "points2")[body]][:, finger]
        pose = arrays["tips"][:, finger] if body == 0 else self.poses["object"][self._rings]
        frames = arrays[("frames1", "frames2")[body]][:, finger]
        normals = np.einsum("kji,kj->ki", pose[:, :3, :3], frames[:, :3, 2])
        radius = np.where(arrays["gap"][:, finger] < 0.0, 0.9 * self.radius, 0.3 * self.radius)
        data = meshes.path_tube(points, normals, radius)
        look = {"color": PATHS[1 - body], "ambient": 0.45, "diffuse": 0.6, "reset_camera": False}
        import pyvista as pv

        actor = self.plotter.add_mesh(pv.Sphere(radius=1e-6), smooth_shading=False, **look)
        actor.prop.interpolation = "Phong"
        return actor, data

    def _arrow(self) -> tuple[Any, Any]:
        import pyvista as pv

        add, r = self.plotter.add_mesh, 0.75 * self.radius
        self.head = 9.0 * r
        shaft = pv.Cylinder(center=(0.5, 0, 0), direction=(1, 0, 0), radius=r, height=1.0, resolution=24)
        cone = pv.Cone(center=(-0.5 * self.head, 0, 0), direction=(1, 0, 0), height=self.head, radius=3.2 * r, resolution=32)
        look = {"color": FORCE, "ambient": 0.4, "diffuse": 0.65, "reset_camera": False}
        return add(shaft, **look), add(cone, **look)

    def _add_glass(self, ghosts: int, mesh: tuple[int, int]) -> None:
        given = self.given
        grid = np.asarray(given.surface.grid(*mesh), dtype=float)
        solid = meshes.body_mesh(grid, given.surface)
        lines = meshes.coordinate_lines(grid, 8, 12)
        ink = blend(BODIES[0], INK, 0.45)
        width = max(1.0, self.size[1] / 800)
        self.ghosts = [glass(self.plotter, solid, BODIES[0], 0.02, 0.75, 0.8 ** (k + 1)) for k in range(ghosts)]
        self.lines = self.plotter.add_mesh(lines, color=ink, line_width=width, opacity=0.4, lighting=False, reset_camera=False)
        tip = sphere(given.tip_radius)
        ball = meshes.body_mesh(np.asarray(tip.grid(33, 49), dtype=float), tip)
        self.tips = [glass(self.plotter, ball, BODIES[1], 0.35, 0.95) for _ in range(given.fingers)]
        self.body = glass(self.plotter, solid, BODIES[0], 0.16, 0.95)

    def __enter__(self) -> HandStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the window."""
        self.plotter.close()

    def sample(self, t: float) -> int:
        """The sample nearest to a time, s."""
        return int(np.argmin(np.abs(self.arrays["t"] - t)))

    def show(self, t: float, camera: Camera) -> int:
        """Move everything to the sample nearest to a time (s); its number."""
        k, arrays = self.sample(t), self.arrays
        for actor, i, j in self._links:
            a, b = self.places[k, i, j], self.places[k, i, j + 1]
            actor.user_matrix = along((b - a) / np.linalg.norm(b - a), a)
        for name, actor in self._frames.items():
            actor.user_matrix = self.poses[name][k]
        for actor in (self.body, self.lines):
            actor.user_matrix = self.poses["object"][k]
        for i in range(self.given.fingers):
            self.tips[i].user_matrix = arrays["tips"][k, i]
            touching = arrays["gap"][k, i] < 0.0
            for body in (0, 1):
                frame = self._contacts[i][body]
                frame.visibility = bool(touching)
                frame.user_matrix = arrays[("frames1", "frames2")[body]][k, i]
                self._trace(i, body, k)
            self._force(i, k)
        self._show_ghosts(k)
        self._sort(k, camera)
        self._look(camera)
        return k

    def _show_ghosts(self, k: int) -> None:
        """Places of the object on its way since no tip touched it."""
        free = np.flatnonzero(self.arrays["gap"][: k + 1].min(axis=1) > 0.0)
        first = int(free[0]) if len(free) else k
        steps = np.linalg.norm(np.diff(self.arrays["object"][first : k + 1, 4:], axis=0), axis=1)
        travel = np.concatenate([[0.0], np.cumsum(steps)])
        for count, actor in enumerate(self.ghosts, start=1):
            at = travel[-1] - 0.72 * self.unit * count
            actor.visibility = bool(at >= 0.0)
            if actor.visibility:
                actor.user_matrix = self.poses["object"][first + int(np.searchsorted(travel, at))]

    def _trace(self, finger: int, body: int, k: int) -> None:
        import pyvista as pv

        actor, (vertices, normals, triangles) = self._tubes[finger][body]
        last = int(np.searchsorted(self._rings, k, side="right")) - 1
        faces = triangles[: last * meshes.SIDES * 2]
        actor.visibility = len(faces) > 0
        if len(faces):
            mesh = pv.PolyData.from_regular_faces(vertices[: (last + 1) * meshes.SIDES], faces)
            mesh.point_data.active_normals = normals[: (last + 1) * meshes.SIDES]
            actor.mapper.SetInputData(mesh)
        actor.user_matrix = self.arrays["tips"][k, finger] if body == 0 else self.poses["object"][k]

    def _force(self, finger: int, k: int) -> None:
        """The force on the object, drawn outside of it: its tip is at the contact."""
        shaft, cone = self._forces[finger]
        force = self.arrays["forces"][k, finger] / self.newtons_per_metre
        length = float(np.linalg.norm(force))
        for actor in (shaft, cone):
            actor.visibility = length > 1.2 * self.head
        if length > 1.2 * self.head:
            tip = self.arrays["frames2"][k, finger, :3, 3]
            H = along(force / length, tip)[:, [2, 0, 1, 3]]
            cone.user_matrix = H
            scaled = H.copy()
            scaled[:3, 0] *= length - 0.9 * self.head
            scaled[:3, 3] = tip - force
            shaft.user_matrix = scaled

    def _sort(self, k: int, camera: Camera) -> None:
        """Draw the glass that is nearer last: VTK paints translucent actors in the order of the renderer's list."""
        centres = [*self.arrays["tips"][k, :, :3, 3], self.poses["object"][k, :3, 3]]
        order = [int(part) for part in np.argsort(np.array(centres) @ camera.axes[2], kind="stable")]
        if order == self._order:
            return  # an actor that is taken out and put back is sent to the renderer anew
        self._order = order
        renderer, parts = self.plotter.renderer, [*([tip] for tip in self.tips), [self.body, self.lines]]
        for part in order:
            for actor in parts[part]:
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


def _frames_of(arrays: Arrays) -> Arrays:
    return {name: arrays[name] for name in FRAMES}
