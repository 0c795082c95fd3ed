"""Actors of pyvista: meshes, triads, tubes and arrows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from screwbond.models.pictures.interpolation import Array
from screwbond.models.pictures.probe import require_opengl
from screwbond.models.pictures.shapes.meshes import Mesh, along
from screwbond.models.pictures.shapes.tubes import SIDES
from screwbond.models.pictures.style import AXES, FORCE, rgb

# Transparent where seen face on, opaque at grazing angles: the rim shows the shape, the middle the inside.
_GLASS = """//VTK::Light::Impl
  float rim = 1.0 - abs(normalVCVSOutput.z);
  fragOutput0.a = mix({low:f}, {high:f}, rim * rim) * {strength:f};
"""


_LIGHTS = (((-0.6, 1.2, 1.0), 0.62), ((1.2, 0.2, 0.8), 0.26), ((0.1, -1.0, 0.4), 0.26))
"""Positions relative to the camera, and intensities."""


def plotter(size: tuple[int, int], background: tuple[str, str], seen: bool = False) -> Any:
    """Open a window of a size (pixels) with lights, on the screen if `seen`; `background`: colour, and colour at the top.

    Raises `ExtraError` E418 if rendering is impossible.
    """
    require_opengl()
    import pyvista as pv
    from vtkmodules.vtkCommonCore import vtkLogger

    # Without a screen VTK tries to open one, complains, and then renders off-screen anyway.
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    window = pv.Plotter(off_screen=not seen, window_size=list(size), lighting="none")
    # Pictures are rendered larger and averaged, which is cheaper in software than multisampling.
    window.render_window.SetMultiSamples(0)
    window.set_background(background[0], top=background[1])
    for position, intensity in _LIGHTS:
        window.add_light(pv.Light(position=position, light_type="camera light", intensity=intensity))
    return window


def surface(mesh: Mesh) -> Any:
    """Convert the triangles of a mesh for pyvista, with its normals, and its colours as point scalars "rgb"."""
    import pyvista as pv

    polydata = pv.PolyData.from_regular_faces(mesh.points, mesh.faces)
    polydata.point_data.active_normals = mesh.normals
    if mesh.colours is not None:
        polydata.point_data["rgb"] = np.round(255.0 * mesh.colours).astype(np.uint8)
    return polydata


def glass(window: Any, mesh: Mesh, colour: str, low: float, high: float, strength: float = 1.0) -> Any:
    """Add a mesh as glass: its opacity is `low` where it is seen face on, `high` at its rim, both times `strength`."""
    look = {"opacity": 0.99, "ambient": 0.42, "diffuse": 0.72, "specular": 0.35, "specular_power": 40}
    culling = None if mesh.open else "back"
    actor = window.add_mesh(surface(mesh), color=colour, smooth_shading=True, culling=culling, reset_camera=False, **look)
    code = _GLASS.format(low=low, high=high, strength=strength)
    actor.GetShaderProperty().AddFragmentShaderReplacement("//VTK::Light::Impl", True, code, False)
    return actor


def opaque(window: Any, mesh: Mesh, colour: str) -> Any:
    """Add a mesh as a slightly shiny solid."""
    return _painted(window, mesh, colour, ambient=0.5, diffuse=0.68, specular=0.2, specular_power=35, smooth_shading=True)


def veil(window: Any, mesh: Mesh, colour: str) -> Any:
    """Add a mesh as unlit colour with 30 % opacity."""
    return _painted(window, mesh, colour, opacity=0.3, lighting=False)


def wall(window: Any, mesh: Mesh, colour: str) -> Any:
    """Add a mesh that is visible from its front only."""
    return _painted(window, mesh, colour, ambient=0.6, diffuse=0.45, culling="back")


def _painted(window: Any, mesh: Mesh, colour: str, **look: Any) -> Any:
    """Add a mesh in its own colours, if it has any."""
    look |= {"color": colour} if mesh.colours is None else {"scalars": "rgb", "rgb": True}
    return window.add_mesh(surface(mesh), reset_camera=False, **look)


def lines(window: Any, mesh: Mesh, colour: str, width: float, opacity: float) -> Any:
    """Add the lines of a mesh."""
    import pyvista as pv

    cells = np.column_stack([np.full(len(mesh.lines), 2), mesh.lines])
    polydata = pv.PolyData(mesh.points, lines=cells)
    return window.add_mesh(polydata, color=colour, line_width=width, opacity=opacity, lighting=False, reset_camera=False)


def triad(window: Any, length: float, radius: float) -> Any:
    """Add three arrows x, y, z in their colours, whose heads do not grow with their radius."""
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
        """Show the first `rings` rings at the pose (4, 4) of its body, and the bead at its present end (3,) in those axes."""
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
    """Force arrow: a shaft that grows with the force and a head of constant size."""

    def __init__(self, window: Any, radius: float):
        import pyvista as pv

        self.head = 9.0 * radius
        shaft = pv.Cylinder(center=(0, 0, 0.5), direction=(0, 0, 1), radius=radius, height=1.0, resolution=24)
        cone = pv.Cone(center=(0, 0, -0.5 * self.head), direction=(0, 0, 1), height=self.head, radius=3.2 * radius, resolution=32)
        look = {"color": FORCE, "ambient": 0.4, "diffuse": 0.65, "reset_camera": False}
        self.actors = window.add_mesh(shaft, **look), window.add_mesh(cone, **look)

    def show(self, start: Array, tip: Array) -> None:
        """Draw from a point (3,) to another; hide if hardly longer than the head."""
        length = float(np.linalg.norm(tip - start))
        for actor in self.actors:
            actor.visibility = length > 1.2 * self.head
        if length > 1.2 * self.head:
            H = along(tip - start, start)
            H[:3, 2] *= length - 0.9 * self.head
            self.actors[0].user_matrix, self.actors[1].user_matrix = H, along(tip - start, tip)
