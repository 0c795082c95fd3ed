"""The three-dimensional part of a delta robot's pictures: machine, frames, tool path, a cut of its workspace. Needs pyvista."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.delta.kinematics.formulas import ROTATIONS
from models.delta.kinematics.parameters import DeltaParameters
from models.delta.kinematics.workspace import workspace
from models.delta.pictures.machine import Part, base_parts, joints, moving_parts
from models.delta.studies.run import DeltaRun
from models.pictures import meshes
from models.pictures.camera import Camera, fit
from models.pictures.style import INK, PATHS

Array = NDArray[np.float64]

VIEW = np.array([0.62, -0.70, -0.36]) / np.linalg.norm([0.62, -0.70, -0.36])
"""Direction to the viewer; x3 points down, so that the viewer is a little above the tool."""

UP = np.array([0.0, 0.0, -1.0])

EDGE = 0.03
"""Dexterity at which the cut through the workspace ends."""


class DeltaStage:
    """The robot on an off-screen window; close it, or use it as a context.

    Parameters
    ----------
    run : of the robot: what moves.
    size : (width, height) of the window in pixels.
    finger : length of the gripper, m; by default a twelfth of L1 + L2, 0 for none.
    cargo : times between which the gripper carries a block, s; none for no block.
    cut : whether the cut through the workspace at x1 = 0 is shown, coloured by the dexterity there.
    frames : whether the frames of base, motors and tool are shown.
    """

    def __init__(
        self,
        run: DeltaRun,
        size: tuple[int, int],
        *,
        finger: float | None = None,
        cargo: tuple[float, float] | None = None,
        cut: bool = True,
        frames: bool = True,
        background: tuple[str, str] = ("#e9edf3", "#ffffff"),
    ):
        import pyvista as pv
        from vtkmodules.vtkCommonCore import vtkLogger

        vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
        self.run, self.size = run, size
        self.p: DeltaParameters = run.kinematics.parameters
        self.unit = self.p.L1 + self.p.L2
        self.finger = self.unit / 12.0 if finger is None else finger
        self.plotter = pv.Plotter(off_screen=True, window_size=list(size), lighting="none")
        # Pictures are rendered larger and averaged, which is cheaper in software than multisampling.
        self.plotter.render_window.SetMultiSamples(0)
        self.plotter.set_background(background[0], top=background[1])
        for place, intensity in (((-0.6, 1.2, 1.0), 0.62), ((1.2, 0.2, 0.8), 0.28), ((0.1, -1.0, 0.4), 0.22)):
            self.plotter.add_light(pv.Light(position=place, light_type="camera light", intensity=intensity))
        self.path = run.w + np.array([0.0, 0.0, self.finger])
        for part in base_parts(self.p):
            self._add(part)
        self._floor()
        self._actors = [self._add(part) for part in moving_parts(self.p, run.q[0], self.finger)]
        self.cargo = cargo
        side = 0.055 * self.unit
        block = pv.Cube(center=(0.0, 0.0, 0.2 * side), x_length=0.7 * side, y_length=side, z_length=side)
        self._block = self._add(Part("block", block, "#7fb69a", 0.3)) if cargo else None
        self._trace: Any = None
        self._way = self.plotter.add_mesh(
            meshes.polylines([self.path]),
            color=PATHS[0],
            opacity=0.35,
            line_width=size[1] / 700,
            lighting=False,
            reset_camera=False,
        )
        self.triad = 0.16 * self.unit
        self.triads = [self._triad() for _ in range(5)] if frames else []
        self.cut = cut
        if cut:
            self._cut()

    def _add(self, part: Part, opacity: float = 1.0) -> Any:
        mesh = _shaded(part.mesh)
        return self.plotter.add_mesh(
            mesh,
            color=part.colour,
            smooth_shading=True,
            ambient=0.38,
            diffuse=0.66,
            specular=part.specular,
            specular_power=35,
            opacity=opacity,
            reset_camera=False,
        )

    def _floor(self) -> None:
        """A table just below the lowest point of the gripper's way, with a grid."""
        import pyvista as pv

        self.floor = float(np.max(self.path[:, 2])) + 0.0385 * self.unit
        centre = np.array([0.0, 0.0, self.floor])
        radius = 1.05 * max(float(np.max(np.hypot(*self.path[:, :2].T))), 0.5 * self.unit)
        disc = pv.Disc(center=centre, normal=(0, 0, -1), inner=0.0, outer=radius, c_res=160)
        self.radius = radius
        self.plotter.add_mesh(disc, color="#dfe4ec", ambient=0.55, diffuse=0.45, lighting=True, reset_camera=False)
        step, lines = 0.05, []
        for value in np.arange(-np.floor(radius / step), radius / step + 1e-9) * step:
            half = np.sqrt(max(radius**2 - value**2, 0.0))
            if half > 0.0:
                lines.append(np.array([[value, -half, self.floor - 1e-4], [value, half, self.floor - 1e-4]]))
                lines.append(np.array([[-half, value, self.floor - 1e-4], [half, value, self.floor - 1e-4]]))
        self.plotter.add_mesh(
            meshes.polylines(lines),
            color="#ffffff",
            line_width=max(1.0, self.size[1] / 900),
            opacity=0.7,
            lighting=False,
            reset_camera=False,
        )

    def _triad(self) -> Any:
        mesh = meshes.triad(self.triad, 0.045 * self.triad)
        shiny = {"ambient": 0.35, "diffuse": 0.7, "specular": 0.2}
        return self.plotter.add_mesh(mesh, scalars="rgb", rgb=True, reset_camera=False, **shiny)

    def _cut(self, points: int = 421) -> None:
        """The reachable part of the plane x1 = 0 above the table, coloured by 1/condition, with its outline."""
        import pyvista as pv

        span = np.linspace(-1.0, 1.0, points) * (abs(self.p.L0 - self.p.L3) + self.unit) * 0.8
        deep = np.linspace(0.0, self.floor - self.finger - 1e-3, points)
        found = workspace(self.p, 0.0, span, deep).condition[0]
        y, z = np.meshgrid(span, deep + self.finger, indexing="ij")
        grid = pv.StructuredGrid(np.zeros_like(y)[..., None], y[..., None], z[..., None])
        values = np.where(np.isfinite(found), 1.0 / np.where(np.isfinite(found), found, 1.0), 0.0)
        grid.point_data["dexterity"] = values.ravel(order="F")
        # It falls to zero at the edge like a root: a level that small is at the edge, and smoother than cells.
        inside = grid.clip_scalar(scalars="dexterity", value=EDGE, invert=False).extract_surface(algorithm="dataset_surface")
        self.plotter.add_mesh(
            inside,
            scalars="dexterity",
            cmap="viridis",
            clim=(0.0, 1.0),
            opacity=0.30,
            lighting=False,
            show_scalar_bar=False,
            reset_camera=False,
        )
        edge = inside.extract_feature_edges(
            boundary_edges=True, feature_edges=False, manifold_edges=False, non_manifold_edges=False
        )
        self.plotter.add_mesh(
            edge, color=INK, opacity=0.55, line_width=max(1.0, self.size[1] / 900), lighting=False, reset_camera=False
        )

    def __enter__(self) -> DeltaStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.plotter.close()

    def camera(self, inset: tuple[int, int, int, int], view: Array = VIEW) -> Camera:
        """A camera with the machine in all its postures, and the table, inside the window less its inset (pixels)."""
        picked = np.unique(np.linspace(0, len(self.run.t) - 1, 40).astype(int))
        corners = [np.concatenate(joints(self.p, self.run.q[k])) for k in picked]
        angle = np.linspace(0.0, 2.0 * np.pi, 33)
        rim = np.stack([self.radius * np.cos(angle), self.radius * np.sin(angle), np.full(33, self.floor)], axis=1)
        top = np.array([R @ [0.0, 1.1 * self.p.L0, -0.06 * self.unit] for R in ROTATIONS])
        return fit(np.vstack([*corners, rim, top, self.path]), view, UP, self.size, inset)

    def show(self, t: float, camera: Camera) -> int:
        """Move everything to the row of the run next to a time (s), which is returned."""
        import pyvista as pv

        k = int(np.argmin(np.abs(self.run.t - t)))
        for actor, part in zip(self._actors, moving_parts(self.p, self.run.q[k], self.finger), strict=True):
            actor.mapper.SetInputData(_shaded(part.mesh))
        if self._trace is not None:
            self.plotter.remove_actor(self._trace, render=False)
            self._trace = None
        done = _thinned(self.path[: k + 1], 1e-3 * self.unit)
        if len(done) > 1:
            tube = pv.lines_from_points(done).tube(radius=0.0042 * self.unit, n_sides=12)
            self._trace = self.plotter.add_mesh(
                tube, color=PATHS[0], ambient=0.45, diffuse=0.6, reset_camera=False, smooth_shading=True
            )
        if self._block is not None and self.cargo is not None:
            held = int(np.argmin(np.abs(self.run.t - np.clip(t, *self.cargo))))
            H = np.eye(4)
            H[:3, 3] = self.path[held]
            self._block.user_matrix = H
        for actor, H in zip(self.triads, self.frames(k), strict=False):
            actor.user_matrix = H
        view = self.plotter.camera
        view.position, view.focal_point, view.up = camera.eye, camera.centre, camera.up
        view.view_angle = camera.angle
        view.SetWindowCenter(-camera.shift[0], -camera.shift[1])
        distance = float(np.linalg.norm(camera.eye - camera.centre))
        view.clipping_range = (0.02 * distance, 6.0 * distance)
        return k

    def frames(self, k: int) -> list[Array]:
        """Poses (4, 4) of the frames shown at a row: base, arms 1 to 3 at their shafts, tool."""
        poses = []
        for R, place in zip((np.eye(3), *ROTATIONS), (np.zeros(3), *(R @ [0.0, self.p.L0, 0.0] for R in ROTATIONS)), strict=True):
            poses.append((R, place))
        poses.append((np.eye(3), self.run.w[k]))
        out = []
        for R, place in poses:
            H = np.eye(4)
            H[:3, :3], H[:3, 3] = R, place
            out.append(H)
        return out

    def image(self) -> NDArray[np.uint8]:
        """Render the window, (height, width, 3)."""
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(return_img=True))[..., :3]


def _shaded(mesh: Any) -> Any:
    """A mesh with normals that keep its edges."""
    return mesh.triangulate().compute_normals(
        split_vertices=True, feature_angle=40, cell_normals=False, consistent_normals=True, auto_orient_normals=True
    )


def _thinned(points: Array, step: float) -> Array:
    """Points of a path no nearer to each other than a step, the last one always."""
    if len(points) < 2:
        return points
    travel = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    keep = np.flatnonzero(np.diff(np.floor(travel / step), prepend=-1.0) > 0.0)
    return points[np.unique(keep)] if travel[-1] > step else points[:1]
