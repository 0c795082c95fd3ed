"""The hand-written C code of the delta robot, compiled by gcc in a temporary folder and loaded."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.arm import theta_of, theta_rate
from screwbond.models.delta.kinematics.parameters import DeltaParameters

from benchmarks.hand_written import compiler

SOURCE = Path(__file__).with_name("delta.c")


@dataclass(frozen=True)
class DeltaC:
    """Function in C of the rates x' (18,) at states x = (q1, v1, q2, v2, q3, v3) and motor torques u (3,); q1, q2, q3 are
    the angles phi of the paper."""

    library: ctypes.CDLL
    p: np.ndarray

    def many(self, x: np.ndarray, u: np.ndarray, out: np.ndarray) -> Callable[[], Any]:
        """Return a call that evaluates all rows of x (n, 18) and u (n, 3) into `out` (n, 18); all arrays are contiguous."""
        function = self.library.delta_many
        function.argtypes, function.restype = [ctypes.c_long, *[ctypes.c_void_p] * 4], None
        addresses = [array.ctypes.data for array in (x, u, self.p, out)]
        keep = (x, u, self.p, out)
        return lambda: (function(len(x), *addresses), keep)[1]

    def one(self, x: np.ndarray, u: np.ndarray, out: np.ndarray) -> Callable[[], Any]:
        function = self.library.delta_rates
        function.argtypes, function.restype = [ctypes.c_void_p] * 4, None
        addresses = [array.ctypes.data for array in (x, u, self.p, out)]
        keep = (x, u, self.p, out)
        return lambda: (function(*addresses), keep)[1]

    def rates(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        x, u = np.ascontiguousarray(x, dtype=float), np.ascontiguousarray(u, dtype=float)
        out = np.full_like(x, np.nan)
        self.many(x, u, out)()
        return out


@contextmanager
def delta_c(
    parameters: DeltaParameters, flags: tuple[str, ...] = ("-O2",), alphas: tuple[float, float] = (10.0, 25.0)
) -> Iterator[DeltaC]:
    """Compile the C function for a robot and its Baumgarte constants (alpha1 in 1/s, alpha0 in 1/s^2)."""
    gcc = compiler()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "delta.so"
        subprocess.run(
            [gcc, *flags, "-Wall", "-Werror", "-std=gnu11", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-lm"], check=True
        )
        yield DeltaC(ctypes.CDLL(str(target)), np.array([*parameters.values(), *alphas]))


def random_states(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return random states (n, 18) and torques (n, 3) of typical size, with the arms apart and sin(phi2) far from 0."""
    rng = np.random.default_rng(seed)
    q = np.stack([rng.uniform(-0.5, 1.3, (n, 3)), rng.uniform(1.6, 2.8, (n, 3)), rng.uniform(-0.6, 0.6, (n, 3))], axis=2)
    v = rng.normal(0.0, 2.0, (n, 3, 3))
    return np.concatenate([q, v], axis=2).reshape(n, 18), rng.normal(0.0, 2.0, (n, 3))


def in_theta(x: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert states and rates (n, 18) of the C code, in phi and phi', to theta and theta' of
    `screwbond.models.delta.kinematics.arm`.

    theta'' is the derivative of theta' along (phi', phi''), computed with a complex step, which is exact to rounding error.
    """
    q, v = np.moveaxis(x.reshape(-1, 3, 2, 3), (2, 3), (0, 1))
    dv = np.moveaxis(rates.reshape(-1, 3, 2, 3)[:, :, 1], 2, 0)
    moving, step = theta_rate(q, v), 1e-30
    turning = theta_rate(q + 1j * step * v, v + 1j * step * dv).imag / step

    def rows(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(np.array([first, second]), (0, 1), (2, 3)).reshape(x.shape))

    return rows(theta_of(q), moving), rows(moving, turning)
