"""Start poses of two bodies against the joint between them: what is small decays, what is large is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.errors import Place, refusal
from models.joints.kinds import KINDS


def missed(kind: str, H: np.ndarray, *numbers: float) -> tuple[float, float]:
    """Length (m) and angle (rad) by which a pose H_A_B misses a joint of one of the `KINDS`."""
    return KINDS[kind].missed(H, *numbers)


def start_check(
    name: str, kind: str, relative: Callable[..., Any], limits: tuple[float, float], place: Place | None
) -> Callable[..., tuple[()]]:
    """Refuses (E455) start poses that miss the joint by more than `limits` (m, rad); `relative`(poses, frames) gives H_A_B."""

    def check(pose_a: Any, pose_b: Any, frame_a: Any, frame_b: Any, *numbers: float) -> tuple[()]:
        H = relative(pose_a, pose_b, frame_a, frame_b)[1]
        gap, turn = missed(kind, np.asarray(H, dtype=float), *map(float, numbers))
        if gap > limits[0] or turn > limits[1]:
            title, found = f'{kind} joint "{name}" does not close at the start', f"{gap:.4g} m and {turn:.4g} rad"
            allowed = f"allowed are {limits[0]:g} m and {limits[1]:g} rad, which decay"
            why = f"its axes on the two bodies miss it by {found}; {allowed}"
            poses = "start positions and quaternions of the bodies, frame_a and frame_b that meet it"
            raise refusal("E455", title, poses, "a larger largest_gap or largest_tilt", about=name, why=why, places=(place,))
        return ()

    return check
