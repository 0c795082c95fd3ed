"""Rendering of a scene with pyvista actors, at a time and from a camera, off-screen or in a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.framing import in_view, outline
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.parts import Force, Frame, Look, Trail
from screwbond.models.pictures.probe import require_opengl
from screwbond.models.pictures.scene import SPACING, Camera, Scene
from screwbond.models.pictures.shapes.meshes import SIDES, Mesh, along, path_tube, polyline, stretch_poses
from screwbond.models.pictures.style import AXES, FORCE, GAUSS, HEAD, OVERLAP, RADIUS, SHORTEST, TUBE, rgb

from bondgraph.output.plot_style import INK

# Transparent where seen face on, opaque at grazing angles: the rim shows the shape, the middle the inside.
_GLASS = """//VTK::Light::Impl
  float rim = 1.0 - abs(normalVCVSOutput.z);
  fragOutput0.a = mix({low:f}, {high:f}, rim * rim) * {strength:f};
"""

_LIGHTS = (((-0.6, 1.2, 1.0), 0.62), ((1.2, 0.2, 0.8), 0.26), ((0.1, -1.0, 0.4), 0.26))


def plotter(size: tuple[int, int], background: tuple[str, str], on_screen: bool = False) -> Any:
    require_opengl()
    import pyvista as pv
    from vtkmodules.vtkCommonCore import vtkLogger

    # Without a screen VTK tries to open one, complains, and then renders off-screen anyway.
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    window = pv.Plotter(off_screen=not on_screen, window_size=list(size), lighting="none")
    # Pictures are rendered larger and averaged, which is cheaper in software than multisampling.
    window.render_window.SetMultiSamples(0)
    window.set_background(background[0], top=background[1])
    for position, intensity in _LIGHTS:
        window.add_light(pv.Light(position=position, light_type="camera light", intensity=intensity))
    return window


def surface(mesh: Mesh) -> Any:
    import pyvista as pv

    polydata = pv.PolyData.from_regular_faces(mesh.points, mesh.faces)
    polydata.point_data.active_normals = mesh.normals
    if mesh.colours is not None:
        polydata.point_data["rgb"] = np.round(255.0 * mesh.colours).astype(np.uint8)
    return polydata


def glass(window: Any, mesh: Mesh, colour: str, low: float, high: float, strength: float = 1.0) -> Any:
    """Add a mesh as glass: its opacity is `low` face on and `high` at its rim, both multiplied by `strength`."""
    look = {"opacity": 0.99, "ambient": 0.42, "diffuse": 0.72, "specular": 0.35, "specular_power": 40}
    culling = None if mesh.open else "back"
    actor = window.add_mesh(surface(mesh), color=colour, smooth_shading=True, culling=culling, reset_camera=False, **look)
    code = _GLASS.format(low=low, high=high, strength=strength)
    actor.GetShaderProperty().AddFragmentShaderReplacement("//VTK::Light::Impl", True, code, False)
    return actor


MATERIALS: dict[Look, dict[str, Any]] = {
    Look.OPAQUE: {"ambient": 0.5, "diffuse": 0.68, "specular": 0.2, "specular_power": 35, "smooth_shading": True},
    Look.VEIL: {"opacity": 0.3, "lighting": False},
    Look.WALL: {"ambient": 0.6, "diffuse": 0.45, "culling": "back"},
}
"""Pyvista options for each look except glass: slightly shiny, unlit, and visible from the front only."""


def painted(window: Any, mesh: Mesh, colour: str, look: Look) -> Any:
    colours = {"color": colour} if mesh.colours is None else {"scalars": "rgb", "rgb": True}
    return window.add_mesh(surface(mesh), reset_camera=False, **MATERIALS[look], **colours)


def lines(window: Any, mesh: Mesh, colour: str, width: float, opacity: float) -> Any:
    import pyvista as pv

    cells = np.column_stack([np.full(len(mesh.lines), 2), mesh.lines])
    polydata = pv.PolyData(mesh.points, lines=cells)
    return window.add_mesh(polydata, color=colour, line_width=width, opacity=opacity, lighting=False, reset_camera=False)


def triad(window: Any, length: float, radius: float) -> Any:
    import pyvista as pv

    head = 0.26
    shape = {"tip_length": head, "tip_radius": 0.42 * head, "shaft_radius": radius / length, "scale": length}
    resolution = {"tip_resolution": 28, "shaft_resolution": 20}
    parts = [pv.Sphere(radius=1.6 * radius, theta_resolution=18, phi_resolution=18)]
    parts += [pv.Arrow(direction=axis, **shape, **resolution) for axis in np.eye(3)]
    for part, colour in zip(parts, ((60, 66, 80), *map(rgb, AXES)), strict=True):
        part.point_data.clear()
        part.point_data["rgb"] = np.tile(np.array(colour, dtype=np.uint8), (part.n_points, 1))
    mesh = parts[0].append_polydata(*parts[1:])
    mesh = mesh.compute_normals(split_vertices=True, feature_angle=40, cell_normals=False)
    return window.add_mesh(mesh, scalars="rgb", rgb=True, reset_camera=False, ambient=0.35, diffuse=0.7, specular=0.2)


class Tube:
    """Path that grows, with a bead at its end."""

    def __init__(self, window: Any, mesh: tuple[Array, Array, NDArray[np.int64]], colour: str, radius: float):
        import pyvista as pv

        self._vertices, self._normals, self._triangles = mesh
        look = {"color": colour, "ambient": 0.45, "diffuse": 0.6, "reset_camera": False}
        bead = pv.Sphere(radius=radius, theta_resolution=16, phi_resolution=16)
        self.path = window.add_mesh(bead, smooth_shading=False, **look)
        self.path.prop.interpolation = "Phong"
        self.bead = window.add_mesh(bead, smooth_shading=True, **look)

    def show(self, rings: int, pose: Array, end: Array) -> None:
        import pyvista as pv

        faces = self._triangles[: max(rings - 1, 0) * SIDES * 2]
        self.path.visibility = len(faces) > 0
        if len(faces):
            mesh = pv.PolyData.from_regular_faces(self._vertices[: rings * SIDES], faces)
            mesh.point_data.active_normals = self._normals[: rings * SIDES]
            self.path.mapper.SetInputData(mesh)
        self.path.user_matrix = pose
        H = pose.copy()
        H[:3, 3] += pose[:3, :3] @ end
        self.bead.user_matrix = H


class Arrow:
    """Force arrow with a shaft that grows with the force and a head of constant size."""

    def __init__(self, window: Any, radius: float):
        import pyvista as pv

        self.head = HEAD[0] * radius
        shaft = pv.Cylinder(center=(0, 0, 0.5), direction=(0, 0, 1), radius=radius, height=1.0, resolution=24)
        point = {"height": self.head, "radius": HEAD[1] * radius, "resolution": 32}
        cone = pv.Cone(center=(0, 0, -0.5 * self.head), direction=(0, 0, 1), **point)
        look = {"color": FORCE, "ambient": 0.4, "diffuse": 0.65, "reset_camera": False}
        self.actors = tuple(window.add_mesh(part, **look) for part in (shaft, cone, cone.copy()))

    def show(self, start: Array, tip: Array, cut: bool) -> None:
        length = float(np.linalg.norm(tip - start))
        shown = length > SHORTEST * self.head
        for actor, visible in zip(self.actors, (shown, shown, shown and cut), strict=True):
            actor.visibility = visible
        if shown:
            H, point = along(tip - start, start), along(tip - start, tip)
            H[:3, 2] *= length - OVERLAP * self.head
            second = point.copy()
            second[:3, 3] -= OVERLAP * self.head * point[:3, 2]
            for actor, pose in zip(self.actors, (H, point, second), strict=True):
                actor.user_matrix = pose


COVER_SHARE = 0.6
"""Fraction of the spacing below which two ghosts cover each other."""


def ghost_samples(
    poses: Array, t: Array, now: float, count: int, spacing: float, around: bool = False, since: float = -np.inf
) -> list[int]:
    """Return samples of earlier (with `around`, also later) poses, nearest first, whose origins lie `spacing` (m) of travel
    apart.

    Ghosts that would cover another ghost, where a path returns, are omitted, as are poses before `since` (s).
    """
    first = int(np.searchsorted(t, since))
    if first == len(t) or now < t[first]:
        return []
    poses, t = poses[first:], t[first:]
    travel = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))])
    position = float(np.interp(now, t, travel))
    if around:
        # Poses before and after lie at equal distances from the current one; of two, the earlier counts as nearer.
        marks = [position + spacing * step for k in range(1, count + 1) for step in (-k, k)]
    else:
        last = int(position / spacing)
        marks = [spacing * k for k in range(last, -1, -1) if position - spacing * k > 0.45 * spacing]
    least = 1e-9 * spacing  # tolerance for the rounding error of a mark at an end
    shown = [mark for mark in marks if -least <= mark <= travel[-1] + least]
    samples = [int(np.searchsorted(travel, min(mark, travel[-1]) - least)) for mark in shown[:count]]
    chosen: list[int] = []
    for k in samples:
        if all(np.linalg.norm(poses[k, :3, 3] - poses[j, :3, 3]) > COVER_SHARE * spacing for j in chosen):
            chosen.append(k)
    return [first + k for k in chosen]


MAX_RINGS = 4000


class Stage:
    """Renderer of a scene; its actors exist while the context is open.

    Parameters
    ----------
    scene : the scene.
    size : (width, height) of the window in pixels.
    background : colours at the bottom and top.
    fine : scale of triads, tubes and arrows (1: for a view of all solids).
    ghosts : maximum number of earlier poses shown of each solid with ghosts.
    longer : additional factor for the length of the axes of frames.
    around : show later poses as ghosts too.
    mesh : numbers of points of a surface's mesh along u and v, which must be one more than multiples of 8 and of 12.
    on_screen : open the window on the screen.
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
        on_screen: bool = False,
    ):
        scene.need("solids, frames, paths or springs", scene.solids, scene.all_frames, scene.all_paths, scene.springs)
        self.scene, self.size, self.around = scene, size, around
        self.radius = RADIUS * scene.unit * fine
        self.axis = GAUSS * scene.unit * fine * longer
        self.shaft = scene.arrow_radius * fine
        self.plotter = plotter(size, background, on_screen)
        self.meshes = [scene.mesh(i, *mesh) for i in range(len(scene.solids))]
        self._ghosts = [
            [
                glass(self.plotter, self.meshes[i], solid.line_colour, 0.02, 0.9, 0.8**age)
                for age in range(ghosts if solid.ghosts is not None else 0)
            ]
            for i, solid in enumerate(scene.solids)
        ]
        self._solids = [self._solid(i) for i in range(len(scene.solids))]
        self._triads = [self._triad(frame) for frame in scene.all_frames]
        self._tubes = [self._tube(path) for path in scene.all_paths]
        self._arrows = [Arrow(self.plotter, self.shaft) for _ in scene.all_forces]
        self._strings = [
            lines(self.plotter, polyline(np.zeros((2, 3))), INK, 1.5, 1.0) if touch.show_gap else None for touch in scene.contacts
        ]
        self._coils = [painted(self.plotter, scene.coil(spring), spring.colour, Look.OPAQUE) for spring in scene.springs]
        self.in_view = in_view(scene, self.meshes)
        self._order: list[int] = []

    def _solid(self, index: int) -> list[Any]:
        solid, mesh = self.scene.solids[index], self.meshes[index]
        if solid.look is Look.GLASS:
            low, high = (0.4, 0.4) if solid.unbounded else (0.20, 0.95)
            drawn_actors = [glass(self.plotter, mesh, solid.colour, low, high)]
        else:
            drawn_actors = [painted(self.plotter, mesh, solid.colour, solid.look)]
        if len(mesh.lines):
            width = max(1.0, self.size[1] / 800)
            opacity = 0.4 if solid.look is Look.GLASS else 0.6
            drawn_actors.append(lines(self.plotter, mesh, solid.line_colour, width, opacity))
        return drawn_actors

    def _triad(self, frame: Frame) -> Any:
        return triad(self.plotter, self.axis * frame.length, self.radius * frame.thickness) if frame.length else None

    def _tube(self, path: Trail) -> tuple[Tube, Array]:
        t = self.scene.t
        pick = np.unique(np.linspace(0, len(t) - 1, min(len(t), MAX_RINGS)).astype(int))
        thick = TUBE * self.radius * np.broadcast_to(path.thick, len(t))[pick]
        mesh = path_tube(path.points[pick], path.normals[pick], thick)
        if path.ahead:
            lines(self.plotter, polyline(path.points), path.colour, self.size[1] / 700, 0.35)
        return Tube(self.plotter, mesh, path.colour, TUBE * self.radius), t[pick]

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.plotter.close()

    def arrow(self, force: Force) -> tuple[Array, Array] | None:
        start, tip = (ends[0] for ends in self.scene.arrow(force))
        return None if np.linalg.norm(tip - start) <= SHORTEST * HEAD[0] * self.shaft else (start, tip)

    def show(self, t: float, camera: Camera) -> Scene:
        now = self.move(t, camera)
        self._look(camera)
        return now

    def move(self, t: float, camera: Camera) -> Scene:
        """Show the scene at time `t` (s) and return it; `camera` only decides in which order glass is
        painted."""
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
            start, tip = self.scene.arrow(force)
            arrow.show(start[0], tip[0], bool(self.scene.cuts(force)[0]))
        self._show_strings(now)
        for coil, coil_shape, part in zip(self._coils, self.scene.springs, now.springs, strict=True):
            coil.user_matrix = stretch_poses(part.starts, part.ends, coil_shape.length)[0]
        for index, ghosts in enumerate(self._ghosts):
            shown = [*self.ghost_poses(index, t), *[None] * len(ghosts)]
            for actor, ghost in zip(ghosts, shown, strict=False):
                actor.visibility = ghost is not None
                if ghost is not None:
                    actor.user_matrix = ghost
        self._sort(now, camera)
        return now

    def ghost_samples(self, index: int, t: float) -> list[int]:
        solid = self.scene.solids[index]
        if solid.ghosts is None:
            return []
        count, spacing = len(self._ghosts[index]), SPACING * self.scene.stride
        return ghost_samples(solid.poses, self.scene.t, t, count, spacing, self.around, solid.ghosts)

    def ghost_poses(self, index: int, t: float) -> Array:
        return self.scene.solids[index].poses[self.ghost_samples(index, t)]

    def _show_strings(self, now: Scene) -> None:
        import pyvista as pv

        for string, touch in zip(self._strings, now.contacts, strict=True):
            if string is not None:
                ends = np.stack([H[0, :3, 3] for H in touch.frames])
                string.visibility = bool(np.linalg.norm(ends[1] - ends[0]) > 0.02 * self.scene.unit)
                if string.visibility:
                    string.mapper.SetInputData(pv.lines_from_points(ends))

    def _sort(self, now: Scene, camera: Camera) -> None:
        """Draw nearer glass last: VTK paints translucent actors in the order of the renderer's list."""
        solids = self.scene.solids
        clear = [i for i, solid in enumerate(solids) if solid.look not in (Look.OPAQUE, Look.WALL)]
        order = painting_order(now, camera, clear)
        if order == self._order:
            return  # removing and adding an actor would upload its mesh again
        self._order = order
        layers = [self._solids[i] for i in order]
        # Grounds are painted before anything above them, because the viewer is above.
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
        self.plotter.render()
        return np.asarray(self.plotter.screenshot(return_img=True))[..., :3]

    def outline(self, times: Iterable[float]) -> Array:
        times = list(times)
        there = self.scene.t <= max(times)
        points: list[Array] = []
        last = self.scene.at_times([max(times)])
        # Labelled paths appear in the legend, and must be visible.
        for path in self.scene.all_paths:
            if path.ahead or path.label:
                H = np.eye(4) if path.on is None else last.solids[path.on].poses[0]
                points.append(path.points[slice(None) if path.ahead else there] @ H[:3, :3].T + H[:3, 3])
        points.append(outline(self.scene, self.meshes, self.in_view, times))
        for i in self.in_view if len(times) == 1 else ():
            points += [self.meshes[i].outline @ H[:3, :3].T + H[:3, 3] for H in self.ghost_poses(i, times[0])]
        return np.vstack(points)


def painting_order(now: Scene, camera: Camera, indices: Sequence[int]) -> list[int]:
    """Return the solids of a scene of one sample from back to front. Two in contact are ordered by their tangent plane, all
    others by the distance of their origins."""
    away = {i: float(np.linalg.norm(now.solids[i].poses[0, :3, 3] - camera.eye)) for i in indices}
    behind = set()
    for touch in now.contacts:
        plane = touch.frames[0][0]
        second_in_front = float((camera.eye - plane[:3, 3]) @ plane[:3, 2]) > 0.0
        behind.add(touch.solids if second_in_front else touch.solids[::-1])
    remaining = sorted(away, key=lambda i: -away[i])
    order = []
    while remaining:
        # Cyclic overlaps have no order: the farthest comes first.
        farthest = next((i for i in remaining if not any((other, i) in behind for other in remaining)), remaining[0])
        remaining.remove(farthest)
        order.append(farthest)
    return order
