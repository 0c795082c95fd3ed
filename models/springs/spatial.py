"""Spatial springs and dampers: a 6-D spring between frames fixed to two bodies, and a wrench that opposes their relative twist.

```
 b --> 0 --> a         T_0_a_b
       |
      MTF  Ad(H_0^B)   T_B_A_B
       |
       C               V(H_A_B); in a damper, an R
```
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from screwbond.models.bodies import diagonal_if_possible
from screwbond.models.connections import two_body_part
from screwbond.models.springs.formulas import (
    FORMS,
    add_frame_transformer,
    damping_matrix,
    energy_latex,
    frame,
    relative_pose,
    rotation_vector,
    spring_energy,
    spring_error,
    spring_of_signal,
    spring_wrench,
    stiffness_blocks,
    wrench_latex,
)

from bondgraph import Automaton, Block, Graph, Op, Parameter, R, Transition
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import SCREW
from bondgraph.model.model import Visible

NEAR_PI = 1e-2
"""Value of |cos(angle / 2)| below which a run with the form "rotation vector" ends, 0.02 rad before pi."""


@in_units(stiffness="N m/rad, N; N/rad, N/m", rotational="N m/rad", translational="N/m", coupling="N", frame_a="m", frame_b="m")
def spatial_spring(
    name: str,
    stiffness: Any = None,
    *,
    rotational: Any = None,
    translational: Any = None,
    coupling: Any = None,
    frame_a: Any = None,
    frame_b: Any = None,
    form: str = "trace",
) -> Graph:
    """Return a spring that pulls the frame B of body b to the frame A of body a; at rest, both origins lie at its centre.

    Ports `a`, `b` for world twists, inputs `pose a`, `pose b`: `attach_between` connects them.

    Parameters
    ----------
    stiffness : (6, 6) in twist order, [[K_r, K_c], [K_c^T, K_t]], at the centre; or its blocks:
    rotational, translational : N m/rad and N/m; a number, three numbers (along the axes) or symmetric (3, 3). Zero by default.
    coupling : K_c, symmetric (3, 3), N. `centre_of_stiffness` finds the frames in which it is symmetric.
    frame_a, frame_b : A and B in object coordinates of their bodies: a position (3,) in m, a pose (7,) or (4, 4).
    form : how V depends on large rotations (see `formulas.spring_energy`). "trace" is smooth; an isotropic spring then has the
        moment k sin(angle), and so a second, unstable equilibrium at pi. "rotation vector" has the moment k angle, is singular at
        pi, and ends a run (E320) 0.02 rad before.

    Signals: `relative pose` H_A_B (7,), `wrench` (6,) in B (the wrench on b is its negative); `world wrench`; `energy`.

    Raises `ModelError` E493 for an invalid stiffness, E494 for a coupling that is not symmetric, E495 for an invalid frame, E496
    for an unknown form.

    The energy is a function of the poses: the spring has no state of its own.
    """
    if form not in FORMS:
        raise spring_error("E496", name, f"unknown form {form!r}", 'form="trace"', f"forms: {', '.join(FORMS)}")
    values = stiffness_blocks(name, stiffness, rotational, translational, coupling)
    A, B = frame(name, "frame_a", frame_a), frame(name, "frame_b", frame_b)
    graph, relative = two_body_part(name, "attach_between(graph, spring, a, b)")
    to_B = add_frame_transformer(graph, relative, B)
    vector = form == "rotation vector" and bool(np.any(values["rotational"]))
    graph.add(_relative(A, B, vector))
    graph.connect(to_B, spring_of_signal(*_laws(form, "coupling" in values), values, "relative.H", 6, SCREW, "B"))
    if vector:
        graph.add_automaton(_limit())
    graph.export("relative pose", "relative.H")
    graph.export("wrench", "spring.effort")
    graph.export("world wrench", "relative twist.effort")
    graph.export("energy", "spring.energy")
    ends = {"pose a": "pose a", "pose b": "pose b", "frame a": "relative.frame a", "frame b": "relative.frame b"}
    return graph.mark_visible(Visible("spatial spring", ends, 0.0))


@cache
def _laws(form: str, coupled: bool) -> tuple[Op, Op]:
    """Return the Ops of wrench and energy, which all springs of a form share, and so their code."""

    def of_signals(formula: Any) -> Any:
        return lambda *arguments: formula(arguments[-1], *arguments[:-1], form=form)

    letters = ("K_r", "K_t", "K_c")[: 3 if coupled else 2]
    H = f"#{len(letters) + 1}"

    def written(formula: str, *remarks: str) -> str:
        for number, letter in enumerate(letters, start=1):
            formula = formula.replace(letter, f"#{number}")
        return "\n".join((formula, ",\\; ".join((f"(R, p) = {H}", *remarks))))

    source = "Fasse and Broenink 1997; Stramigioli 2001"
    wrench, energy = wrench_latex(form, coupled), energy_latex(form, coupled)
    return (
        Op("spring wrench", of_signals(spring_wrench), written(*wrench), source),
        Op("spring energy", of_signals(spring_energy), written(*energy), source),
    )


RELATIVE = Op("relative pose", relative_pose, r"(#1\,#3)^{-1}\,#2\,#4")
COSINE = Op("cosine", lambda H: rotation_vector(H[:4])[1], r"\cos\tfrac12\theta(#1)")
NEAR = Op("near pi", lambda cosine: NEAR_PI - cosine, rf"{NEAR_PI} - #1")


def _relative(A: np.ndarray, B: np.ndarray, vector: bool) -> Any:
    equations: list[Any] = [("H", RELATIVE, ["pose a", "pose b", "frame a", "frame b"])]
    if vector:
        equations.append(("cosine", COSINE, ["H"]))
    return Block(
        "relative",
        equations,
        inputs={"pose a": "pose a", "pose b": "pose b"},
        parameters={"frame a": Parameter(A, "1, m"), "frame b": Parameter(B, "1, m")},
        symbols={"H": "H_B^A", "frame a": "H_A^a", "frame b": "H_B^b", "cosine": r"\gamma"},
        units={"H": "1, m"} | ({"cosine": "1"} if vector else {}),
    )


def _limit() -> Automaton:
    reason = 'a spring of the form "rotation vector" has turned by nearly pi, where its torque would jump'
    transition = Transition("regular", "regular", NEAR, ("relative.cosine",), kind="spring turned by pi", error=reason)
    return Automaton("limit", ("regular",), "regular", (transition,))


@in_units(damping="N m s/rad, N s; N s/rad, N s/m", rotational="N m s/rad", translational="N s/m", centre="m")
def spatial_damper(
    name: str, damping: Any = None, *, rotational: Any = None, translational: Any = None, centre: Any = None
) -> Graph:
    """Return a damper whose wrench is D T_B_A_B, with B fixed to body b: 0-junction, MTF Ad and R.

    Ports `a`, `b` for world twists, inputs `pose a`, `pose b`: `attach_between` connects them. Between a body and
    `ground` it damps the absolute motion.

    Parameters
    ----------
    damping : (6, 6) symmetric positive semidefinite in twist order; or its blocks:
    rotational, translational : N m s and N s/m; a number, three numbers (along the axes) or symmetric (3, 3). Zero by default.
    centre : B in object coordinates of b: a position (3,) in m, a pose (7,) or (4, 4). If `damping` has no coupling, a force
        through its origin causes no rotation.

    Signals: `wrench` (6,) in B (the wrench on b is its negative); `world wrench`; `twist` T_B_A_B.

    Raises `ModelError` E493 for a damping that could supply power, E495 for an invalid frame.
    """
    D = damping_matrix(name, damping, rotational, translational)
    graph, relative = two_body_part(name, "attach_between(graph, damper, a, b)")
    to_B = add_frame_transformer(graph, relative, frame(name, "centre", centre))
    graph.connect(to_B, R("damper", diagonal_if_possible(D), domain=SCREW, frame="B"))
    graph.export("wrench", "damper.effort")
    graph.export("world wrench", "relative twist.effort")
    graph.export("twist", "damper.flow")
    return graph
