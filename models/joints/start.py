"""Start poses of two bodies against the joint between them: what is small decays, what is large is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, Place, Problem
from models.joints.closure import violation
from screws import rotations


def missed(kind: str, H: np.ndarray, *numbers: float) -> tuple[float, float]:
    """Length (m) and angle (rad) by which a pose H_A_B misses a joint."""
    h = np.asarray(violation(kind, H, *numbers), dtype=float)
    R = np.asarray(H, dtype=float)[:3, :3]
    if kind in ("revolute", "helical", "cylindrical", "planar"):
        turn, lengths = float(np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])), h[2:]
    elif kind in ("prismatic", "fixed"):
        turn, lengths = float(np.linalg.norm(np.asarray(rotations.log(R), dtype=float))), h[3:]
    elif kind == "universal":
        (psi,) = numbers
        second = R @ np.array([np.cos(psi), np.sin(psi), 0.0])
        turn, lengths = abs(float(np.arccos(np.clip(second[0], -1.0, 1.0))) - psi), h[1:]
    else:
        turn, lengths = 0.0, h
    return float(np.linalg.norm(lengths)), turn


def start_check(
    name: str, kind: str, relative: Callable[..., Any], limits: tuple[float, float], place: Place | None
) -> Callable[..., tuple[()]]:
    """Refuses (E455) start poses that miss the joint by more than `limits` (m, rad); `relative`(poses, frames) gives H_A_B."""

    def check(pose_a: Any, pose_b: Any, frame_a: Any, frame_b: Any, *numbers: float) -> tuple[()]:
        H = relative(pose_a, pose_b, frame_a, frame_b)[1]
        gap, turn = missed(kind, np.asarray(H, dtype=float), *map(float, numbers))
        if gap > limits[0] or turn > limits[1]:
            raise ModelError(
                name,
                [
                    Problem(
                        "E455",
                        f'{kind} joint "{name}" does not close at the start',
                        (f"its axes on the two bodies miss it by {gap:.4g} m and {turn:.4g} rad; "
                         f"allowed are {limits[0]:g} m and {limits[1]:g} rad, which decay",),
                        (place,),
                        ("start positions and quaternions of the bodies, frame_a and frame_b that meet it",
                         "a larger largest_gap or largest_tilt"),
                    )
                ],
            )  # fmt: skip
        return ()

    return check
