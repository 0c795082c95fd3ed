"""One-coordinate models of linkages, which give the angle and rate of the crank with error bounds.

    M(a) a'' + M'(a) a'^2 / 2 + V'(a) = torque(t) - sum F_j |k_j(a)| sign(a')

Positions are intersections of circles and lines in closed form, on a fine grid of the crank's angle a; splines give
their derivatives. Rest, breakaway, stop and lock are events between smooth pieces, which SciPy integrates.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from campaigns.ideal.halving import SMALL, Reference
from campaigns.ideal.records import Dyad, Link, Linkage

POINTS = 4001
STILL = 1e-7
"""Rate (rad/s) below which a bouncing crank counts as being at rest."""
TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Place:
    """Position (start x + i y, angle), length, mass and moment of inertia of a link, and the distance of its centre of
    mass from the start."""

    begin: np.ndarray
    angle: np.ndarray
    link: Link
    centre: float


def places(linkage: Linkage, a: np.ndarray) -> tuple[dict[str, Place], dict[str, np.ndarray]]:
    links = {"crank": Place(np.zeros_like(a) + 0j, a, linkage.crank, 0.5 * linkage.crank.length)}
    joints = {"crank": a}
    before = "crank"
    for i, dyad in enumerate(linkage.dyads):
        place = links[before]
        pin = place.begin + dyad.reach * np.exp(1j * place.angle)
        end, follower = _closed(dyad, pin)
        rod = np.angle(end - pin)
        links[f"rod {i}"] = Place(pin, rod, dyad.rod, 0.5 * dyad.rod.length)
        links[f"follower {i}"] = follower
        joints |= {f"pin {i}": rod - place.angle, f"end {i}": follower.angle - rod}
        joints[f"base {i}"] = follower.angle if dyad.kind == "rocker" else follower.begin.real
        before = f"follower {i}"
    return links, joints


def _closed(dyad: Dyad, pin: np.ndarray) -> tuple[np.ndarray, Place]:
    pivot = complex(*dyad.pivot)
    if dyad.kind == "slider":
        height = pivot.imag - pin.imag
        end = pin + np.sqrt(dyad.rod.length**2 - height**2) + 1j * height
        return end, Place(end, np.zeros_like(end.real), dyad.follower, 0.0)
    way = pivot - pin
    along = (dyad.rod.length**2 - dyad.follower.length**2 + np.abs(way) ** 2) / (2.0 * np.abs(way))
    end = pin + (along + 1j * np.sqrt(dyad.rod.length**2 - along**2)) * way / np.abs(way)
    return end, Place(np.full_like(end, pivot), np.angle(end - pivot), dyad.follower, 0.5 * dyad.follower.length)


class Reduced:
    """M(a), V(a) and the rates k_j(a) of the joints at unit rate of the crank, periodic in a."""

    def __init__(self, linkage: Linkage):
        a = np.linspace(0.0, 2.0 * np.pi, POINTS)
        links, joints = places(linkage, a)
        inertia, height = np.zeros_like(a), np.zeros_like(a)
        for place in links.values():
            centre = place.begin + place.centre * np.exp(1j * place.angle)
            rate = _periodic(a, centre.real).derivative()(a) + 1j * _periodic(a, centre.imag).derivative()(a)
            inertia += place.link.mass * np.abs(rate) ** 2 + place.link.inertia * _turning(a, place.angle) ** 2
            height += place.link.mass * linkage.gravity * centre.imag
        self.M, self.V = _periodic(a, inertia), _periodic(a, height)
        self.k = {joint: _periodic(a, _rate(linkage, joint, a, q)) for joint, q in joints.items()}
        self.dM, self.dV = self.M.derivative(), self.V.derivative()


def _rate(linkage: Linkage, joint: str, a: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return dq/da of a joint, whose coordinate is an angle or a slider's displacement."""
    name, _, dyad = joint.partition(" ")
    slides = name == "base" and linkage.dyads[int(dyad)].kind == "slider"
    return np.asarray(_periodic(a, q).derivative()(a)) if slides else _turning(a, q)


def _periodic(a: np.ndarray, values: np.ndarray) -> CubicSpline:
    return CubicSpline(a, np.append(values[:-1], values[0]), bc_type="periodic")


def _turning(a: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return the derivative of an angle that may wrap: d angle = Im(conj(z) dz) with z = exp(i angle)."""
    z = np.exp(1j * angle)
    rate = _periodic(a, z.real).derivative()(a) + 1j * _periodic(a, z.imag).derivative()(a)
    return np.asarray((np.conj(z) * rate).imag)


def integrated(linkage: Linkage, samples: np.ndarray) -> Reference:
    """Return cos a, sin a and a' of the crank at the sample times."""
    reduced = Reduced(linkage)
    coarse, fine = (_trajectory(linkage, reduced, samples, rtol) for rtol in (1e-7, 1e-10))
    off = np.abs(fine - coarse).max(axis=0)
    size = np.abs(fine).max()
    return Reference(fine, 2.0 * off + 2.0 * SMALL * size, math.inf, bool(off.max() < 1e-2 * size))


class _Motion:
    def __init__(self, linkage: Linkage, reduced: Reduced):
        self.linkage, self.reduced = linkage, reduced
        self.begin, self.free = linkage.lock[1:] if linkage.lock else (math.inf, math.inf)
        self.stop, self.restitution = linkage.stop or (math.inf, 0.0)

    def push(self, t: float, a: float) -> float:
        return float(self.linkage.torque.at(t) - self.reduced.dV(a % TURN))

    def grip(self, a: float) -> float:
        return sum(limit * abs(float(self.reduced.k[joint](a % TURN))) for joint, limit in self.linkage.frictions)

    def loosened(self, t: float, a: float, until: float) -> float:
        grip, blocked = self.grip(a), a >= self.stop - 1e-12

        def margin(s: float) -> float:
            push = self.push(s, a)
            return min(math.inf if blocked else grip - push, push + grip)

        if margin(t) < -1e-12:
            return t
        grid = np.linspace(t, until, 2 + int((until - t) / 2e-3))
        for low, high in itertools.pairwise(grid):
            if margin(high) < -1e-12:
                return float(brentq(lambda s: margin(s) + 1e-12, low, high, xtol=1e-12)) + 1e-10
        return until

    def moved(self, t: float, a: float, w: float, until: float, rtol: float) -> Any:
        direction = math.copysign(1.0, w)

        def rates(t: float, y: np.ndarray) -> list[float]:
            b = y[0] % TURN
            torque = self.push(t, y[0]) - direction * self.grip(y[0]) - 0.5 * float(self.reduced.dM(b)) * y[1] ** 2
            return [y[1], torque / float(self.reduced.M(b))]

        def rest(t: float, y: np.ndarray) -> float:
            return float(direction * y[1])

        def stop(t: float, y: np.ndarray) -> float:
            return float(self.stop - y[0])

        events: list[Any] = [rest, stop] if math.isfinite(self.stop) else [rest]
        for event in events:
            event.terminal, event.direction = True, -1.0
        settings = {"rtol": rtol, "atol": 1e-2 * rtol, "max_step": 0.02}
        return solve_ivp(rates, (t, until), [a, w], "DOP853", dense_output=True, events=events, **settings)


def _trajectory(linkage: Linkage, reduced: Reduced, samples: np.ndarray, rtol: float) -> np.ndarray:
    motion = _Motion(linkage, reduced)
    t, a, w, end = 0.0, linkage.start, linkage.rate, float(samples[-1])
    rows = np.array([[a, w]] * len(samples))
    while t < end:
        locked = motion.begin <= t < motion.free
        until = min(motion.free if locked else motion.begin if t < motion.begin else end, end)
        if locked or w == 0.0:
            w = 0.0
            begins = until if locked else motion.loosened(t, a, until)
            rows[samples >= t] = a, w
            t = begins
            if t >= until:
                continue
            w = math.copysign(1e-13, motion.push(t, a))
        run = motion.moved(t, a, w, until, rtol)
        inside = (samples > t) & (samples <= run.t[-1])
        if inside.any():
            rows[inside] = run.sol(samples[inside]).T
        t, (a, w) = float(run.t[-1]), run.y[:, -1]
        if len(run.t_events[0]):
            w = 0.0
        elif len(run.t_events) > 1 and len(run.t_events[1]):
            a, w = motion.stop, -motion.restitution * w
            w = 0.0 if abs(w) < STILL else w
    return np.column_stack([np.cos(rows[:, 0]), np.sin(rows[:, 0]), rows[:, 1]])
