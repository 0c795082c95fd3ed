"""Surface of a body: a shape (formulas) with its parameters and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from screws.arrays import Count
from screws.errors import GeometryError
from screws.names import answer_old_names
from screws.scalars import Scalar, array, minimum
from screws.surfaces import frames
from screws.surfaces.frames import Geometry
from screws.vectors import Triple

Coordinates = Sequence[Scalar] | np.ndarray
Values = Sequence[Scalar] | np.ndarray


class Shape(Protocol):
    """Formulas of a kind of surface; its parameters come as a sequence `p`, so one compiled shape serves all sizes."""

    @property
    def name(self) -> str:
        """Name of the kind of surface."""

    @property
    def closed(self) -> bool:
        """True if the surface is c = F(n) on the unit sphere, with two charts."""

    @property
    def letters(self) -> tuple[str, ...]:
        """LaTeX of the parameters `p`; empty for a user's formulas."""

    @property
    def latex(self) -> tuple[str, ...]:
        """LaTeX of the point: equations that define c and each auxiliary letter in terms of `letters` and of u and v (of the
        vector n on a closed surface); empty for a user's formulas."""

    def position(self, q: Coordinates, chart: Scalar, p: Values) -> Triple:
        """Return the point c of the surface."""

    def geometry(self, q: Coordinates, chart: Scalar, p: Values) -> Geometry:
        """Return the Gauss frame, metric, curvature and torsion."""

    def guess(self, point: np.ndarray, p: Values) -> tuple[np.ndarray, float] | None:
        """Return coordinates and chart near a point (3,) of the surface; None if only a search finds them."""

    def ranges(self) -> tuple[tuple[float, float, bool], tuple[float, float, bool]]:
        """Return (from, to, periodic) of both coordinates in chart 0; infinite where unbounded."""


@answer_old_names
@dataclass(frozen=True)
class Surface:
    """Surface of a body, in the body's object frame, with its normal pointing out of the material.

    Attributes
    ----------
    shape : the formulas. Surfaces of one kind share them and differ in their parameters.
    parameters : numbers by name, run-time inputs of compiled code; lengths in m, except those of a user's formula.
    size : characteristic length, m, at which pictures cut unbounded coordinates.
    """

    shape: Shape
    parameters: dict[str, float]
    size: float

    def __hash__(self) -> int:
        return hash((self.shape, tuple(self.parameters.items()), self.size))

    @property
    def name(self) -> str:
        """Name of the kind of surface."""
        return self.shape.name

    @property
    def letters(self) -> dict[str, str]:
        """LaTeX of the parameters by their names; empty for a user's formulas."""
        return dict(zip(self.parameters, self.shape.letters, strict=False))

    @property
    def latex(self) -> tuple[tuple[str, ...], ...]:
        """LaTeX of the point c(u, v) in each chart: an equation for c and one for each further letter, in terms of `letters`;
        empty for a user's formulas."""
        if not self.shape.latex:
            return ()
        return tuple((*self.shape.latex, n) for n in frames.LATEX) if self.shape.closed else (self.shape.latex,)

    @property
    def closed(self) -> bool:
        """True if the surface is closed and has two charts."""
        return self.shape.closed

    @property
    def charts(self) -> int:
        """Number of charts: 2 for closed surfaces, else 1."""
        return 2 if self.shape.closed else 1

    def values(self) -> tuple[float, ...]:
        """Return values of the parameters, in their order."""
        return tuple(self.parameters.values())

    def point(self, q: Coordinates, chart: Scalar = 0.0, parameters: Values | None = None) -> np.ndarray:
        """Return the point (3,) of the surface at coordinates q = (u, v) of a chart, m, for any scalar type."""
        return array(list(self.shape.position(q, chart, self.values() if parameters is None else parameters)))

    def geometry(self, q: Coordinates, chart: Scalar = 0.0, parameters: Values | None = None) -> Geometry:
        """Return the Gauss frame, metric, curvature and torsion at coordinates q = (u, v) of a chart, for any scalar type."""
        return self.shape.geometry(q, chart, self.values() if parameters is None else parameters)

    @property
    def has_edge(self) -> bool:
        """True if the surface has an edge: it is not closed, and a coordinate that is not periodic has a finite range."""
        return not self.closed and bool(self._edges())

    @property
    def unbounded(self) -> bool:
        """True if neither coordinate has a finite range, as on a plane; a picture then shows the surroundings of the contacts
        only."""
        return not any(np.isfinite(stop - start) for start, stop, _ in self.shape.ranges())

    def edge_margin(self, q: Coordinates) -> Scalar:
        """Return the least distance of a coordinate from the ends of its range, relative to the range; negative beyond the
        edge, 1 without an edge."""
        margin: Scalar = 1.0
        for k, start, stop in self._edges():
            part = (q[k] - start) / (stop - start)
            margin = minimum(margin, minimum(part, 1.0 - part))
        return margin

    def _edges(self) -> list[tuple[int, float, float]]:
        """Return the coordinates with edges, each with the ends of its range; no range has only one finite end."""
        return [
            (k, start, stop)
            for k, (start, stop, periodic) in enumerate(self.shape.ranges())
            if not periodic and np.isfinite(stop - start)
        ]

    def chart_margin(self, q: Coordinates, chart: Scalar = 0.0) -> Scalar:
        """Return a margin that is positive inside the chart and zero where the other chart must take over; 1 for a single
        chart."""
        return frames.margin(q) if self.shape.closed else 1.0

    def change_chart(self, q: Coordinates, chart: Scalar, parameters: Values | None = None) -> tuple[np.ndarray, Scalar]:
        """Return coordinates (2,) in the other chart, and the turn of the Gauss frame about its z, rad, for any scalar type.

        x_new = cos(turn) x_old + sin(turn) y_old. The contact angle alpha becomes alpha + turn on either body. Raises
        `GeometryError` G108 for a surface with one chart.
        """
        if not self.shape.closed:
            raise GeometryError("G108", f"the {self.name} has one chart only", "change charts only where `surface.charts` is 2")
        return frames.change(q, chart, self.geometry(q, chart, parameters).M)

    def polar(self, q: Coordinates, chart: Scalar = 0.0) -> np.ndarray:
        """Return coordinates (2,) in chart 0, for output, for any scalar type."""
        if not self.shape.closed:
            return array([q[0], q[1]])
        u, v = frames.coordinates(frames.point(q, chart), 0.0)
        return array([frames.choose(chart, q[0], u), frames.choose(chart, q[1], v)])

    def grid(self, n_u: Count, n_v: Count) -> np.ndarray:
        """Return points (n_u, n_v, 3) of the surface for pictures, m; unbounded coordinates are cut at `size`."""
        (u0, u1, _), (v0, v1, _) = (
            (a if np.isfinite(a) else -self.size, b if np.isfinite(b) else self.size, periodic)
            for a, b, periodic in self.shape.ranges()
        )
        us, vs = np.linspace(u0, u1, n_u), np.linspace(v0, v1, n_v)
        return np.array([[self.point((u, v)) for v in vs] for u in us], dtype=float)
