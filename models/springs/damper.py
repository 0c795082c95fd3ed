"""Spatial damper: a wrench that opposes the relative twist of two bodies."""

from __future__ import annotations

from typing import Any

from bondgraph import Graph, R
from bondgraph.model.domains import SCREW
from models.bodies import as_diagonal, between
from models.springs.ports import into_frame
from models.springs.stiffness import damping_matrix, frame


def spatial_damper(
    name: str, damping: Any = None, *, rotational: Any = None, translational: Any = None, centre: Any = None
) -> Graph:
    """Damper whose wrench is D T_B_A_B, with B fixed to body b: 0-junction, MTF Ad and R.

    Ports `a`, `b` for world twists, inputs `pose a`, `pose b`: `attach_between` connects them. Between a body and
    `ground` it damps the absolute motion.

    Parameters
    ----------
    damping : (6, 6) symmetric positive semidefinite in twist order; or its blocks:
    rotational, translational : N m s and N s/m; a number, three (along the axes) or symmetric (3, 3). Zero by default.
    centre : B in object coordinates of b: a place (3,) in m, a pose (7,) or (4, 4). Its origin is where a force damps no
        rotation.

    Signals: `wrench` (6,) in B, that on b is its negative; `world wrench`; `twist` T_B_A_B.

    Raises
    ------
    ModelError
        E493 for a damping that could give power, E495 for a frame.
    """
    D = damping_matrix(name, damping, rotational, translational)
    graph, relative = between(name)
    to_B = into_frame(graph, relative, frame(name, "centre", centre))
    graph.connect(to_B, R("damper", as_diagonal(D), domain=SCREW, frame="B"))
    graph.export("wrench", "damper.effort")
    graph.export("world wrench", "relative twist.effort")
    graph.export("twist", "damper.flow")
    return graph
