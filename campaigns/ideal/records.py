"""Records from which a model and its reference are made: waveforms, networks, rows of masses, and linkages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wave:
    """Waveform mean + slope t + size sin(omega t + phase)."""

    mean: float = 0.0
    slope: float = 0.0
    size: float = 0.0
    omega: float = 1.0
    phase: float = 0.0

    def at(self, t: Any, sin: Callable[[Any], Any] = math.sin) -> Any:
        value = self.mean + self.slope * t
        return value + self.size * sin(self.omega * t + self.phase) if self.size else value

    def __str__(self) -> str:
        terms = (
            f"{self.mean:g}" if self.mean or not (self.slope or self.size) else "",
            f"{self.slope:g} t" if self.slope else "",
        )
        wave = f"{self.size:g} sin({self.omega:g} t + {self.phase:g})" if self.size else ""
        return " + ".join(filter(None, (*terms, wave)))


@dataclass(frozen=True)
class Branch:
    """Branch of a network from node `tail` to node `head`.

    kind : "R", "L", "C" (value in Ohm, H, F), "D" (conducts from tail to head), "S" (a switch that toggles at `times`), "V"
        (v(tail) - v(head) = waveform + value * current).
    closed : True for a switch that is closed at the start.
    """

    kind: str
    name: str
    tail: int
    head: int
    value: float = 0.0
    wave: Wave = Wave()
    times: tuple[float, ...] = ()
    closed: bool = False

    def conducts(self, t: float) -> bool:
        return self.kind != "S" or self.closed ^ (sum(t > at for at in self.times) % 2 == 1)

    def __str__(self) -> str:
        more = {"V": f" {self.wave}, {self.value:g} Ohm in series", "D": "", "S": f" {'closed' if self.closed else 'open'}"}
        turns = f", toggles at {self.times}" if self.times else ""
        return f"{self.name} {self.tail} -> {self.head}{more.get(self.kind, f' {self.value:g}')}{turns}"


@dataclass(frozen=True)
class Network:
    """Branches between nodes; node 0 is the ground, if any. All charges and currents are zero at the start."""

    branches: tuple[Branch, ...]
    grounded: bool = True

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for branch in self.branches for node in (branch.tail, branch.head)}))

    def __str__(self) -> str:
        return "; ".join(map(str, self.branches)) + ("; node 0 is the ground" if self.grounded else "; no ground")


@dataclass(frozen=True)
class DryFriction:
    """Dry friction with a limit, on the slip v[a] - ratio * v[b], or on ratio * v[a] relative to the ground if `b` is None."""

    a: int
    b: int | None
    limit: float
    ratio: float = 1.0

    def __str__(self) -> str:
        slip = f"v{self.a} - {self.ratio:g} v{self.b}" if self.b is not None else f"{self.ratio:g} v{self.a}"
        return f"friction {self.limit:g} on {slip}"


@dataclass(frozen=True)
class Mass:
    """Mass with a force, a start velocity, a linear damper to the ground, and another mass behind a rigid gear."""

    mass: float
    force: Wave = Wave()
    velocity: float = 0.0
    damping: float = 0.0
    geared: float = 0.0
    gear: float = 1.0

    @property
    def inertia(self) -> float:
        return self.mass + self.gear**2 * self.geared

    def __str__(self) -> str:
        parts = [f"{self.mass:g} under {self.force}"]
        parts += [f"starts at {self.velocity:g}"] if self.velocity else []
        parts += [f"damper {self.damping:g}"] if self.damping else []
        parts += [f"{self.geared:g} behind a gear of {self.gear:g}"] if self.geared else []
        return ", ".join(parts)


@dataclass(frozen=True)
class Masses:
    masses: tuple[Mass, ...]
    frictions: tuple[DryFriction, ...]

    def __str__(self) -> str:
        return "; ".join([*(f"m{i} {mass}" for i, mass in enumerate(self.masses)), *map(str, self.frictions)])


@dataclass(frozen=True)
class Link:
    """Bar with its length, its mass, and its moment of inertia about the centre of mass, which is at half the length."""

    length: float
    mass: float
    inertia: float


@dataclass(frozen=True)
class Dyad:
    """Two links that follow a point of an earlier link: a rod and a rocker about `pivot`, or a rod and a slider on the line
    y = pivot[1]; the slider's length is not used. The point is at distance `reach` along the preceding link."""

    kind: str
    rod: Link
    follower: Link
    pivot: tuple[float, float]
    reach: float


@dataclass(frozen=True)
class Linkage:
    """Crank about the origin, which makes full turns, with one or two dyads; joints are named crank, pin i, end i, base i.

    frictions : (joint, limit).
    stop : (angle that the crank cannot pass upwards, restitution).
    lock : (joint, from, to), s.
    loose : joints of the rods are spherical, so that no condition is redundant in a loop of rockers.
    """

    crank: Link
    dyads: tuple[Dyad, ...]
    start: float
    rate: float
    torque: Wave = Wave()
    gravity: float = 0.0
    frictions: tuple[tuple[str, float], ...] = ()
    stop: tuple[float, float] | None = None
    lock: tuple[str, float, float] | None = None
    loose: bool = False

    def __str__(self) -> str:
        parts = ["crank", *(f"rod and {dyad.kind}" for dyad in self.dyads), f"from {self.start:g} rad at {self.rate:g} rad/s"]
        parts += [f"torque {self.torque}", f"gravity {self.gravity:g}"]
        parts += [f"friction {limit:g} at {joint}" for joint, limit in self.frictions]
        parts += [f"stop at {self.stop[0]:g} rad, restitution {self.stop[1]:g}"] if self.stop else []
        parts += ["{} locked from {:g} to {:g} s".format(*self.lock)] if self.lock else []
        return ", ".join(parts) + (", rods on spherical joints" if self.loose else "")
