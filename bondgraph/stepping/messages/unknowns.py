"""A stepper at its start -> what a step solves for, and what holds it, for reading."""

from __future__ import annotations

import numpy as np

from bondgraph.stepping.problem import Steps
from bondgraph.stepping.step import Stride

_TINY = 1e-12


def told(steps: Steps, stride: Stride) -> str:
    """Unknowns, contacts, constraints and the rank of H, at the start, for a step of one second."""
    layout, wanted = steps.layout, steps.wanted
    stride.fill()
    stiff = np.diagonal(stride.H)
    known = stiff > _TINY * np.max(stiff, initial=0.0)
    friction = stride.settings.friction
    lines = [f'steps of "{steps.model.name}": inertia {wanted.inertia}, friction {friction}, facets {wanted.facets}']
    rank = int(np.linalg.matrix_rank(stride.H)) if len(stiff) else 0
    lines.append(f"{len(stiff)} unknowns, of which springs, resistors and inertia decide {rank}; contacts must bear the others:")
    for owner in dict.fromkeys(layout.owners):
        own = [k for k, name in enumerate(layout.owners) if name == owner]
        held = sum(bool(known[k]) for k in own)
        by = "held" if held == len(own) else "free" if not held else f"{held} of {len(own)} held"
        lines.append(f"  {owner}: {len(own)}, {by}")
    lines.append(f"{len(layout.cones)} contacts:" if layout.cones else "no contacts of the graph")
    for cone, contact, gap in zip(layout.cones, layout.contacts, stride.gap, strict=True):
        coefficient = "no friction" if contact.friction is None else f"friction {stride.mu[layout.cones.index(cone)]:g}"
        ways = f", slips in {cone.slips} directions" if cone.slips else ""
        lines.append(f"  {cone.path or contact.gap}: gap {gap:.6g} m, {coefficient}{ways}, {cone.rows} rows")
    if wanted.bodies:
        lines.append(f"further contacts of {', '.join(body.name for body in wanted.bodies)} are found at every step")
    if layout.constraints:
        lines.append("constraints: " + ", ".join(dict.fromkeys(layout.constraints)))
    return "\n".join(lines)
