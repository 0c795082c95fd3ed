"""The hand-written C code, compiled by gcc in a temporary folder, loaded, and called with a compiled model's parameters."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import random_states
from bondgraph import Compiled

SOURCE = Path(__file__).with_name("two_eggs.c")
FLAGS = {"gcc -O2": ("-O2",), "gcc -O3 -march=native": ("-O3", "-march=native")}
AGREEMENT = 1e-12
"""Largest relative difference between the two right-hand sides that counts as rounding error."""


class Missing(RuntimeError): ...


class Disagreement(RuntimeError):
    """Error raised if two programs do not compute the same, so that their speeds cannot be compared."""


@dataclass(frozen=True)
class HandWritten:
    library: ctypes.CDLL
    name: str

    def many(self, x: np.ndarray, p: np.ndarray, m: np.ndarray, out: np.ndarray) -> Any:
        function = getattr(self.library, f"{self.name}_many")
        pointer = ctypes.c_void_p
        function.argtypes = [ctypes.c_long, *[pointer] * 5]
        function.restype = None
        t = np.zeros(1)
        addresses = [array.ctypes.data for array in (t, x, p, m, out)]
        keep = (t, x, p, m, out)
        return lambda: (function(len(x), *addresses), keep)[1]

    def rates(self, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> np.ndarray:
        out = np.full_like(x, np.nan)
        self.many(x, p, m, out)()
        return out


def compiler() -> str:
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        raise Missing("no C compiler was found: apt install gcc")
    return found


@contextmanager
def hand_written(flags: tuple[str, ...]) -> Iterator[ctypes.CDLL]:
    gcc = compiler()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "two_eggs.so"
        command = [gcc, *flags, "-std=gnu11", "-shared", "-fPIC", "-o", str(target), str(SOURCE), "-lm"]
        subprocess.run(command, check=True)
        yield ctypes.CDLL(str(target))


def compiler_version() -> str:
    gcc = compiler()
    return subprocess.run([gcc, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def packed(name: str, compiled: Compiled) -> np.ndarray:
    given = compiled.system.parameters

    def egg(index: int) -> list[float]:
        f, S, zB = (float(given[f"contact.kinematics.surface {index} {key}"]) for key in ("f", "S", "zB"))
        return [f, 2.0 * S, 3.0 * (S * S - f * f), zB]

    def body(index: int) -> list[float]:
        inertia = np.asarray(given[f"egg {index}.inertia.inertia"], dtype=float)
        return [1.0 / inertia[3], *(1.0 / inertia[:3])]

    springs = np.atleast_1d(given["contact.spring.stiffness"]), np.atleast_1d(given["contact.damper.damping"])
    if name == "s2a":
        return np.array([*body(2), *springs[0], *springs[1], float(given["gravity.spring.force"]), *egg(1), *egg(2)])
    return np.array([*body(2), *springs[0], *springs[1], *egg(1), *egg(2), *body(1)])


def disagreement(name: str, compiled: Compiled, library: ctypes.CDLL, samples: int = 200) -> float:
    """Return the largest difference of the two right-hand sides at random states in all modes and charts.

    A difference is relative to the largest component of its quantity (momentum, quaternion, spring ...), or to the quantity's
    root mean square over the states if it passes through zero.
    """
    rates, layout = compiled.program.rates, compiled.program.layout
    x = random_states(name, rates.n_out, samples)
    p, hand = compiled.parameters(), HandWritten(library, name)
    worst = 0.0
    groups = sorted({(slot.start, slot.stop) for slot in layout.slots.values() if slot.is_state})
    for modes in itertools.product((0.0, 1.0), repeat=3):
        m = np.array(modes)
        reference, found = rates.many(np.zeros(1), x, p, m), hand.rates(x, packed(name, compiled), m)
        if not (np.all(np.isfinite(reference)) and np.all(np.isfinite(found))):
            return np.inf
        for start, stop in groups:
            size = np.max(np.abs(reference[:, start:stop]), axis=1)
            error = np.max(np.abs(found[:, start:stop] - reference[:, start:stop]), axis=1)
            usual = float(np.sqrt(np.mean(size * size)))
            worst = max(worst, float(np.max(error / np.maximum(size, max(usual, 1e-300)))))
    return worst


def ensure_same(name: str, compiled: Compiled, library: ctypes.CDLL) -> float:
    worst = disagreement(name, compiled, library)
    if not worst <= AGREEMENT:
        raise Disagreement(f"{name}: compiled and hand-written right-hand sides differ by {worst:.1e} relative")
    return worst
