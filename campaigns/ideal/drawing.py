"""Random networks, masses and linkages by seed, as records, and smaller records that may show the same fault."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from campaigns.ideal.records import Branch, DryFriction, Dyad, Link, Linkage, Mass, Masses, Network, Wave

END = 2.0
"""Duration (s) of every run; there are 41 samples, and switches toggle between samples, at multiples of the reference programs'
step sizes."""
SAMPLES = np.linspace(0.0, END, 41)


def _short(value: float) -> float:
    return float(f"{value:.2g}")


def _signed(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.choice((-1.0, 1.0))) * _short(rng.uniform(low, high))


def _wave(rng: np.random.Generator, size: float) -> Wave:
    kind = rng.random()
    if kind < 0.3:
        return Wave(mean=_signed(rng, 0.2 * size, size))
    if kind < 0.5:
        return Wave(slope=_signed(rng, 0.2 * size, size))
    mean = 0.0 if kind < 0.8 else _signed(rng, 0.1 * size, 0.5 * size)
    return Wave(mean, 0.0, _short(rng.uniform(0.3, 1.0) * size), _short(rng.uniform(1.0, 9.0)), _short(rng.uniform(0.0, 6.2)))


def drawn_network(seed: int) -> Network:
    """Draw a network of 3 to 6 nodes, all connected, with at least one source and one diode and no dead ends."""
    rng = np.random.default_rng([seed, 1])
    while True:
        network = without_dead_ends(Network(_branches(rng), bool(rng.random() < 0.75)))
        if {"V", "D"} <= {branch.kind for branch in network.branches} and len(network.nodes) > 2:
            return network


def _branches(rng: np.random.Generator) -> tuple[Branch, ...]:
    count = int(rng.integers(3, 7))
    ends = [(k, int(rng.integers(0, k))) for k in range(1, count)]
    ends += [(int(a), int(b)) for a, b in (rng.choice(count, 2, replace=False) for _ in range(rng.integers(3, 8)))]
    kinds = ["V", "D", *(str(kind) for kind in rng.choice(list("RLCDSV"), len(ends) - 2, p=[0.26, 0.16, 0.16, 0.28, 0.09, 0.05]))]
    rng.shuffle(kinds)
    volts = 1e-3 if rng.random() < 0.15 else 1.0
    branches = []
    for k, ((a, b), kind) in enumerate(zip(ends, kinds, strict=True)):
        tail, head = (a, b) if rng.random() < 0.5 else (b, a)
        value, name = _short(10.0 ** rng.uniform(-1.0, 0.5)), f"{kind}{k}"
        if kind == "V":
            phase, omega = _short(rng.uniform(0.0, 6.2)), _short(rng.uniform(1.0, 6.0))
            inside, constant = 0.05 if rng.random() < 0.8 else 0.0, rng.random() < 0.25
            mean = 0.0 if inside else -volts * math.sin(phase)  # otherwise a start may need an impulse
            wave = (
                Wave(mean=volts * _signed(rng, 0.2, 1.0))
                if constant and inside
                else Wave(mean, size=volts, omega=omega, phase=phase)
            )
            branches.append(Branch(kind, name, tail, head, inside, wave))
        elif kind == "S":
            times = np.sort(rng.choice(np.arange(1, 39), int(rng.integers(1, 4)), replace=False)) * 0.05 + 0.024
            turns = tuple(round(float(t), 3) for t in times)
            branches.append(Branch(kind, name, tail, head, times=turns, closed=bool(rng.random() < 0.5)))
        else:
            branches.append(Branch(kind, name, tail, head, 0.0 if kind == "D" else value))
    return tuple(branches)


def without_dead_ends(network: Network) -> Network:
    """Drop branches that end at a node with no other branch, because a junction needs two bonds (E115)."""
    while True:
        degrees = Counter(node for branch in network.branches for node in (branch.tail, branch.head))
        ends = {node for node, degree in degrees.items() if degree == 1 and (node or not network.grounded)}
        left = tuple(branch for branch in network.branches if not {branch.tail, branch.head} & ends)
        if left == network.branches:
            return network
        network = replace(network, branches=left)


def drawn_masses(seed: int, largest: int = 8) -> Masses:
    """Draw a row, a tree or a drive of masses, with friction limits that are equal, or rounded to one decimal so that many
    coincide."""
    rng = np.random.default_rng([seed, 2])
    count, kind = int(rng.integers(2, largest + 1)), ("row", "tree", "drive")[int(rng.integers(3))]
    limits = rng.choice((1.0, 2.0)) * np.ones(3 * count) if seed % 2 else np.round(rng.uniform(0.2, 2.0, 3 * count), 1)
    before = [i - 1 if kind == "row" else int(rng.integers(0, i)) for i in range(1, count)]
    pairs: list[tuple[int, int | None]] = [*zip(range(1, count), before, strict=True), (0, None)]
    if kind == "row":
        pairs.append((count - 1, None))
    else:
        pairs += [(i, None) for i in range(1, count) if rng.random() < 0.4]
    if kind == "drive":  # clutches between any two masses, also parallel to others
        pairs += [(int(a), int(b)) for a, b in (rng.choice(count, 2, replace=False) for _ in range(1 + count // 3))]
    gears = [_short(rng.uniform(0.3, 3.0)) if kind == "drive" and rng.random() < 0.3 else 1.0 for _ in pairs]
    frictions = tuple(DryFriction(a, b, float(limit), ratio) for (a, b), limit, ratio in zip(pairs, limits, gears, strict=False))
    masses = []
    for _ in range(count):
        force = _wave(rng, 4.0) if rng.random() < 0.7 else Wave()
        velocity = _signed(rng, 0.2, 2.0) if rng.random() < 0.2 else 0.0
        damping = _short(rng.uniform(0.1, 1.0)) if rng.random() < 0.2 else 0.0
        geared, gear = (_short(rng.uniform(0.1, 1.0)), _short(rng.uniform(0.3, 3.0))) if rng.random() < 0.15 else (0.0, 1.0)
        masses.append(Mass(_short(10.0 ** rng.uniform(-0.5, 0.5)), force, velocity, damping, geared, gear))
    return Masses(tuple(masses), frictions)


def drawn_linkage(seed: int) -> Linkage:
    """Draw a four-bar, a slider-crank or a six-bar whose crank makes full turns, with or without friction, a stop and a lock."""
    rng = np.random.default_rng([seed, 3])

    def link(length: float) -> Link:
        return Link(_short(length), _short(rng.uniform(0.3, 1.5)), _short(rng.uniform(0.005, 0.03)))

    def slider(reach: float, at: float) -> Dyad:
        return Dyad(
            "slider",
            link(rng.uniform(2.2, 3.5) * reach + 0.1),
            link(0.1),
            (0.0, _short(at + rng.uniform(-0.3, 0.3) * reach)),
            reach,
        )

    crank = link(rng.uniform(0.08, 0.15))
    l, shape = crank.length, ("four-bar", "slider-crank", "six-bar")[int(rng.integers(3))]
    rocker = Dyad(
        "rocker", link(rng.uniform(3.2, 4.0) * l), link(rng.uniform(2.6, 3.1) * l), (_short(rng.uniform(3.3, 4.2) * l), 0.0), l
    )
    reach = _short(0.8 * rocker.follower.length)
    dyads = {"four-bar": (rocker,), "slider-crank": (slider(l, 0.0),), "six-bar": (rocker, slider(reach, reach))}[shape]
    loose = bool(rng.random() < 0.2)
    kinds = ("base",) if loose else ("pin", "end", "base")
    joints = ["crank", *(f"{kind} {i}" for i in range(len(dyads)) for kind in kinds)]
    rubbed = ["crank"] if rng.random() < 0.4 else []
    rubbed += [str(rng.choice(joints[1:]))] if rng.random() < 0.7 else []
    start, rate = _short(rng.uniform(0.0, 6.2)), _signed(rng, 2.0, 9.0) if rng.random() < 0.8 else 0.0
    torque = _wave(rng, 0.6) if rng.random() < 0.6 else Wave()
    frictions = tuple(
        (joint, _short(rng.uniform(0.05, 0.3) * (10.0 if joint == "base 0" and shape == "slider-crank" else 1.0)))
        for joint in rubbed
    )
    stop = (_short(start + rng.uniform(0.5, 5.0)), float(rng.choice((0.0, 0.5)))) if rng.random() < 0.3 else None
    lock = (str(rng.choice(joints)), 0.724, 1.224) if rng.random() < 0.3 else None
    return Linkage(crank, dyads, start, rate, torque, _short(9.81) if rng.random() < 0.3 else 0.0, frictions, stop, lock, loose)


Case = Network | Masses | Linkage


def smaller(case: Case) -> Iterator[Case]:
    """Yield the cases with one part, toggle or property fewer."""
    if isinstance(case, Network):
        for k, branch in enumerate(case.branches):
            fewer = without_dead_ends(replace(case, branches=(*case.branches[:k], *case.branches[k + 1 :])))
            if _is_driven(fewer):
                yield fewer
            for turn in range(len(branch.times)):
                turns = replace(branch, times=(*branch.times[:turn], *branch.times[turn + 1 :]))
                yield replace(case, branches=(*case.branches[:k], turns, *case.branches[k + 1 :]))
    elif isinstance(case, Masses):
        for k in range(len(case.masses)):
            if len(case.masses) > 1:
                frictions = [friction for friction in case.frictions if k not in (friction.a, friction.b)]
                moved = [replace(r, a=r.a - (r.a > k), b=None if r.b is None else r.b - (r.b > k)) for r in frictions]
                yield Masses((*case.masses[:k], *case.masses[k + 1 :]), tuple(moved))
        for k in range(len(case.frictions)):
            yield replace(case, frictions=(*case.frictions[:k], *case.frictions[k + 1 :]))
        for k, mass in enumerate(case.masses):
            for less in ({"force": Wave()}, {"velocity": 0.0}, {"damping": 0.0}, {"geared": 0.0}, {"mass": 1.0}):
                changed = replace(mass, **less)  # type: ignore[arg-type]
                if changed != mass:
                    yield replace(case, masses=(*case.masses[:k], changed, *case.masses[k + 1 :]))
    else:
        if len(case.dyads) > 1:
            yield replace(case, dyads=case.dyads[:1], frictions=_first(case), lock=None)
        for k in range(len(case.frictions)):
            yield replace(case, frictions=(*case.frictions[:k], *case.frictions[k + 1 :]))
        still = replace(case, torque=Wave()), replace(case, gravity=0.0)
        yield from (less for less in (replace(case, stop=None), replace(case, lock=None), *still) if less != case)


def _is_driven(network: Network) -> bool:
    reached = {network.nodes[0]} if network.nodes else set()
    for _ in network.branches:
        reached |= {end for b in network.branches if {b.tail, b.head} & reached for end in (b.tail, b.head)}
    return reached == set(network.nodes) and any(branch.kind == "V" for branch in network.branches)


def _first(case: Linkage) -> tuple[tuple[str, float], ...]:
    return tuple(friction for friction in case.frictions if not friction[0].endswith("1"))
