"""The hand-written C of the dexterous hand: compiled by gcc, fed with the hand's parameters and states."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.hand_written import compiler
from models.hand import Scenario, initial_posture
from models.hand.posture import in_last_link, virtual_points_in_object

SOURCE = Path(__file__).with_name("hand.c")
FINGERS, STATES, MODES, PARAMETERS = 3, 80, 9, 80
FINGER, CONTACT, BALL, VIRTUAL = 0, 24, 54, 67
"""Where the states of the first finger (8 each), of the first contact (10 each) and of the two bodies begin."""


@contextmanager
def library(flags: tuple[str, ...] = ("-O2",)) -> Iterator[ctypes.CDLL]:
    """The library made of the C file with these flags."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "hand.so"
        command = [compiler(), *flags, "-std=gnu11", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-lm"]
        subprocess.run(command, check=True)
        loaded = ctypes.CDLL(str(target))
        loaded.hand_many.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * 5]
        loaded.hand_many.restype = None
        yield loaded


def rates(loaded: ctypes.CDLL, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Rates (samples, 80) of states (samples, 80) at one time."""
    x = np.ascontiguousarray(np.atleast_2d(x), dtype=float)
    time, out = np.array([t]), np.full_like(x, np.nan)
    p, m = np.ascontiguousarray(p, dtype=float), np.ascontiguousarray(m, dtype=float)
    loaded.hand_many(len(x), *(array.ctypes.data for array in (time, x, p, m, out)))
    return out


def packed(scenario: Scenario) -> np.ndarray:
    """Parameters (80,) of the C function: three fingers, a sphere, a motion of at most two steps."""
    g = scenario.parameters
    if g.fingers != FINGERS or g.object_shape != "sphere" or len(scenario.steps) > 2:
        raise ValueError("the C is written for three fingers, a sphere and two steps of the reference")
    pose = initial_posture(g)
    lengths = np.array(g.link_lengths[1:])
    masses = np.array([*g.link_masses[1:], g.tip_mass])
    arms = np.array([[0.5, 0, 0], [1, 0.5, 0], [1, 1, 0.5], [1, 1, 1]]) * lengths
    W = arms.T @ (masses[:, None] * arms)
    links = np.array([g.link_inertia(i) for i in range(4)])
    along, across = links[1:, 0], links[1:, 1]
    along, across = along + np.array([0, 0, g.tip_inertia]), across + np.array([0, 0, g.tip_inertia])
    pole = in_last_link(g, 0, pose.joints[0], pose.poles[0])
    steps = np.zeros((2, 8))
    steps[:, 1] = 1.0
    for i, step in enumerate(scenario.steps):
        steps[i] = [step.begin, step.end, *step.shift, *step.turn]
    k = (g.rotational_stiffness, g.tangential_stiffness, g.tangential_stiffness, g.normal_stiffness)
    c = (g.rotational_damping, g.tangential_damping, g.tangential_damping, g.normal_damping)
    return np.array(
        [
            g.base_radius, *g.link_lengths, *W[np.triu_indices(3)], *across, *along, links[0, 0], g.joint_damping,
            pole[0], pole[2], g.finger_stiffness, g.tip_radius, *g.object_size, *k, *c,
            1.0 / g.object_mass, *(1.0 / g.inertia), 1.0 / g.virtual_mass, 1.0 / g.virtual_inertia,
            g.virtual_damping, g.virtual_rotational_damping, g.reference_stiffness, g.reference_rotational_stiffness,
            *virtual_points_in_object(g, pose).ravel(), *np.stack([np.cos(g.azimuths), np.sin(g.azimuths)], 1).ravel(),
            *g.object_quaternion, *g.object_position, *steps.ravel(),
        ]
    )  # fmt: skip
