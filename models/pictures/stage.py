"""The three-dimensional part of a picture: bodies, triads, paths, force, ghosts as VTK actors. Needs pyvista."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.pictures import meshes
from models.pictures.camera import Camera
from models.pictures.motion import ContactMotion
from models.pictures.style import BODIES, FORCE, INK, PATHS, blend, force_scale

Array = NDArray[np.float64]

OBJECT_TRIAD = 0.65
"""Length of an object frame's axes over that of a Gauss frame's."""

GHOST_SPACING = 0.95
"""Travel between two ghosts, over the size of the bodies."""

COVERS = 0.6
"""Two ghosts that lie less than this part of their spacing apart cover each other."""

# Light that falls along the view passes, light that grazes is held: the rim shows the shape, the middle what is inside.
_GLASS = """//VTK::Light::Impl
  float rim = 1.0 - abs(normalVCVSOutput.z);
  fragOutput0.a = mix({low:f}, {high:f}, rim * rim) * {strength:s};
"""


class Stage:
    """Actors of a contact motion on an off-screen window; close it, or use it as a context.

    Parameters
    ----------
    motion : what moves.
    size : (width, height) of the window in pixels.
    background : colour, and colour at the top.
    fine : scale of triads, tubes and arrows (1: made for a view of both bodies).
    ghosts : how many earlier poses of each moving body are shown.
    triads : length of a Gauss frame's axes over the size of the smaller body.
    mesh : points of a body's mesh along u and v, multiples of 8 and of 12, plus 1.
    around : whether ghosts show later poses too.
    """

    def __init__(
        self,
        motion: ContactMotion,
        size: tuple[int, int],
        background: tuple[str, str] = ("#e9edf3", "#ffffff"),
        fine: float = 1.0,
        ghosts: int = 5,
        triads: float = 0.30,
        around: bool = False,
        mesh: tuple[int, int] = (65, 97),
    ):
        import pyvista as pv
        from vtkmodules.vtkCommonCore import vtkLogger

        # Without a screen VTK tries one, says so, and then renders off-screen all the same.
        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
        self.motion, self.size, self.around = motion, size, around
        self.newtons_per_metre, self.unit_length, self.scale_text = force_scale(motion.largest_force, motion.size)
        self.plotter = pv.Plotter(off_screen=True, window_size=list(size), lighting="none")
        # Pictures are rendered larger and averaged, which is cheaper in software than multisampling.
        self.plotter.render_window.SetMultiSamples(0)
        self.plotter.set_background(background[0], top=background[1])
        for place, intensity in (((-0.6, 1.2, 1.0), 0.62), ((1.2, 0.2, 0.8), 0.26), ((0.1, -1.0, 0.4), 0.26)):
            light = pv.Light(position=place, light_type="camera light", intensity=intensity)
            self.plotter.add_light(light)
        unit = motion.size
        self.radius = 0.011 * unit * fine
        self.triad_length = triads * unit * fine
        self.reach = max(size for size in motion.sizes if np.isfinite(size))
        self._poses = motion.poses
        self.tube = 0.8 * self.radius
        self._cp = (motion.cp1_O1, motion.cp2_O2)
        self.points = tuple(meshes.body_points(s, cp, self.reach, *mesh) for s, cp in zip(motion.surfaces, self._cp, strict=True))
        self._moving = tuple(motion.moving(body) for body in (0, 1))
        self._ghosts: list[list[Any]] = [[], []]
        self._bodies: list[Any] = []
        self._lines: list[Any] = []
        self._paths: list[Any] = []
        self._beads: list[Any] = []
        self._tubes: list[Any] = []
        self._objects: list[Any] = []
        self._frames: list[Any] = []
        self._solid = [meshes.body_mesh(p, s) for p, s in zip(self.points, motion.surfaces, strict=True)]
        for body in (0, 1):
            if self._moving[body]:
                for age in range(ghosts):
                    self._ghosts[body].append(self._glass(body, 0.02, 0.75, 0.8 ** (age + 1)))
        for body in (0, 1):
            self._add_body(body)
        self._add_force()
        self._order: bool | None = None

    def _glass(self, body: int, low: float, high: float, strength: float = 1.0) -> Any:
        """An actor of a body whose middle is clear and whose rim is not."""
        low, high = (0.4, 0.4) if self.motion.surfaces[body].endless else (low, high)
        solid = self._solid[body]
        return glass(self.plotter, solid, BODIES[body], low, high, strength, both_sides=solid.n_open_edges > 0)

    def _tube(self, body: int) -> tuple[Array, Array, NDArray[np.int64], Array]:
        """Vertices, normals and triangles of a path's tube in object axes, and the times of its rings."""
        count = len(self.motion.t)
        pick = np.arange(count) if count <= 4000 else np.unique(np.linspace(0, count - 1, 4000).astype(int))
        frames, pose = (self.motion.frame1, self.motion.frame2)[body][pick], self._poses[body][pick]
        normals = np.einsum("kji,kj->ki", pose[:, :3, :3], frames[:, :3, 2])
        radius = np.where(self.motion.touching()[pick], self.tube, 0.4 * self.tube)
        return *meshes.path_tube(self._cp[body][pick], normals, radius), self.motion.t[pick]

    def _add_body(self, body: int) -> None:
        import pyvista as pv

        add, motion = self.plotter.add_mesh, self.motion
        self._bodies.append(self._glass(body, 0.20, 0.95))
        lines = meshes.coordinate_lines(self.points[body], 8, 12)
        width = max(1.0, self.size[1] / 800)
        ink = blend(BODIES[body], INK, 0.45)
        self._lines.append(add(lines, color=ink, line_width=width, opacity=0.4, lighting=False, reset_camera=False))
        look = {"color": PATHS[body], "ambient": 0.45, "diffuse": 0.6, "reset_camera": False}
        bead = pv.Sphere(radius=self.tube, theta_resolution=16, phi_resolution=16)
        self._paths.append(add(bead, smooth_shading=False, **look))
        self._beads.append(add(bead, smooth_shading=True, **look))
        self._paths[body].prop.interpolation = "Phong"
        self._tubes.append(self._tube(body))
        thin = meshes.triad(OBJECT_TRIAD * self.triad_length, 0.55 * self.radius)
        thick = meshes.triad(self.triad_length, self.radius)
        shiny = {"scalars": "rgb", "rgb": True, "ambient": 0.35, "diffuse": 0.7, "specular": 0.2, "reset_camera": False}
        self._objects.append(add(thin, **shiny))
        self._frames.append(add(thick, **shiny))
        self._objects[body].visibility = not motion.surfaces[body].endless

    def _add_force(self) -> None:
        import pyvista as pv

        add, r = self.plotter.add_mesh, 0.62 * self.radius
        self.head = 9.0 * r
        shaft = pv.Cylinder(center=(0.5, 0, 0), direction=(1, 0, 0), radius=r, height=1.0, resolution=24)
        head = pv.Cone(center=(-0.5 * self.head, 0, 0), direction=(1, 0, 0), height=self.head, radius=3.2 * r, resolution=32)
        look = {"color": FORCE, "ambient": 0.4, "diffuse": 0.65, "reset_camera": False}
        self._force = (add(shaft, **look), add(head, **look))
        self._string = add(_dot(), color=INK, line_width=1.5, lighting=False, reset_camera=False)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the window."""
        self.plotter.close()

    def arrow_tip(self, now: ContactMotion) -> Array | None:
        """Tip of the force arrow of a motion of one sample; None where the force is too small to be drawn."""
        force = now.force_on_2_world[0] / self.newtons_per_metre
        return None if np.linalg.norm(force) < 1.2 * self.head else now.frame2[0, :3, 3] + force

    def show(self, t: float, camera: Camera) -> ContactMotion:
        """Move everything to a time (s); the motion's sample at that time."""
        now = self.motion.at_times([t])
        for body, (pose, frame) in enumerate(zip(now.poses, (now.frame1, now.frame2), strict=True)):
            for actor in (self._bodies[body], self._lines[body], self._paths[body], self._objects[body]):
                actor.user_matrix = pose[0]
            self._frames[body].user_matrix = frame[0]
            bead = pose[0].copy()
            bead[:3, 3] += pose[0, :3, :3] @ (now.cp1_O1, now.cp2_O2)[body][0]
            self._trace(body, t, bead)
            ghosts = self._ghosts[body]
            shown = [*self.ghost_poses(body, t), *[None] * len(ghosts)]
            for actor, ghost in zip(ghosts, shown, strict=False):
                actor.visibility = ghost is not None
                if ghost is not None:
                    actor.user_matrix = ghost
        self._show_force(now)
        self._sort(bool((camera.eye - now.frame1[0, :3, 3]) @ now.frame1[0, :3, 2] > 0.0))
        self._look(camera)
        return now

    def ghost_poses(self, body: int, t: float) -> Array:
        """Poses (k, 4, 4) of a body's ghosts at a time (s), youngest first."""
        poses, spacing = self._poses[body], GHOST_SPACING * self.reach
        return poses[ghost_samples(poses, self.motion.t, t, len(self._ghosts[body]), spacing, self.around)]

    def _trace(self, body: int, t: float, pose: Array) -> None:
        """Show a path up to the present, with a bead at its end."""
        import pyvista as pv

        vertices, normals, triangles, times = self._tubes[body]
        done = int(np.searchsorted(times, t, side="right")) - 1
        faces = triangles[: max(done, 0) * meshes.SIDES * 2]
        self._paths[body].visibility = len(faces) > 0
        if len(faces):
            mesh = pv.PolyData.from_regular_faces(vertices[: (done + 1) * meshes.SIDES], faces)
            mesh.point_data.active_normals = normals[: (done + 1) * meshes.SIDES]
            self._paths[body].mapper.SetInputData(mesh)
        self._beads[body].user_matrix = pose

    def _show_force(self, now: ContactMotion) -> None:
        import pyvista as pv

        start, tip = now.frame2[0, :3, 3], self.arrow_tip(now)
        for actor in self._force:
            actor.visibility = tip is not None
        if tip is not None:
            length = float(np.linalg.norm(tip - start))
            x = (tip - start) / length
            y = np.cross(x, np.eye(3)[np.argmin(np.abs(x))])
            H = np.eye(4)
            H[:3, :3] = np.stack([x, y / np.linalg.norm(y), np.cross(x, y / np.linalg.norm(y))], axis=1)
            H[:3, 3] = tip
            self._force[1].user_matrix = H
            H = H.copy()
            H[:3, 0] *= length - 0.9 * self.head
            H[:3, 3] = start
            self._force[0].user_matrix = H
        ends = np.stack([now.frame1[0, :3, 3], start])
        self._string.visibility = bool(np.linalg.norm(ends[1] - ends[0]) > 0.02 * self.motion.size)
        if self._string.visibility:
            self._string.mapper.SetInputData(pv.lines_from_points(ends))

    def _sort(self, second_in_front: bool) -> None:
        """Draw the glass that is nearer last: VTK paints translucent actors in the order of the renderer's list."""
        if self._order == second_in_front:
            return
        self._order = second_in_front
        renderer = self.plotter.renderer
        bodies = (0, 1) if second_in_front else (1, 0)
        solids = [[self._bodies[body], self._lines[body]] for body in bodies]
        grounds = [self.motion.surfaces[body].endless for body in bodies]
        # What is above a ground must not be painted before it, and the viewer is above.
        if grounds[0]:
            solids.insert(1, [ghost for ghosts in self._ghosts for ghost in ghosts])
        for actors in solids:
            for actor in actors:
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


def glass(
    plotter: Any, mesh: Any, colour: str, low: float, high: float, strength: float = 1.0, *, both_sides: bool = False
) -> Any:
    """Add a mesh as glass: its opacity is `low` where it is seen face on, `high` at its rim, both times `strength`."""
    actor = plotter.add_mesh(
        mesh,
        color=colour,
        smooth_shading=True,
        opacity=0.99,
        ambient=0.42,
        diffuse=0.72,
        specular=0.35,
        specular_power=40,
        culling=None if both_sides else "back",
        reset_camera=False,
    )
    code = _GLASS.format(low=low, high=high, strength=f"{strength:f}")
    actor.GetShaderProperty().AddFragmentShaderReplacement("//VTK::Light::Impl", True, code, False)
    return actor


def ghost_samples(poses: Array, t: Array, now: float, count: int, spacing: float, around: bool = False) -> list[int]:
    """Samples of earlier (and, around, later) poses, nearest first, whose origins lie `spacing` (m) of travel apart.

    Where a path comes round again, a ghost that would cover one that is shown is left out.
    """
    travel = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))])
    here = float(np.interp(now, t, travel))
    if around:
        # Poses before and after stand at equal distances from the present one, the earlier of two counts as nearer.
        marks = [here + spacing * step for k in range(1, count + 1) for step in (-k, k)]
    else:
        last = int(here / spacing)
        marks = [spacing * k for k in range(last, -1, -1) if here - spacing * k > 0.45 * spacing]
    least = 1e-9 * spacing  # what rounding may take from a mark at an end
    shown = [mark for mark in marks if -least <= mark <= travel[-1] + least]
    samples = [int(np.searchsorted(travel, min(mark, travel[-1]) - least)) for mark in shown[:count]]
    found: list[int] = []
    for k in samples:
        if all(np.linalg.norm(poses[k, :3, 3] - poses[j, :3, 3]) > COVERS * spacing for j in found):
            found.append(k)
    return found


def _dot() -> Any:
    import pyvista as pv

    return pv.Sphere(radius=1e-9)
