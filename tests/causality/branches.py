"""Random bodies joined by branches of ideal elements in parallel and in series, and a brute-force solution in each mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph import J0, J1, TF, Automaton, Compiled, Constraint, Diode, Friction, Graph, I, R, Se, Switch
from campaigns.graphs.descriptor import Descriptor
from tests.inner.model import IdealConstraint, IdealSwitch

DOMAIN = "translation"


def branched(rng: np.random.Generator, most: int = 4) -> Graph:
    graph, count = Graph("branched"), int(rng.integers(2, 4))
    bodies = [J1(f"v{k}", domain=DOMAIN) for k in range(count)]
    for k, body in enumerate(bodies):
        graph.connect(Se(f"F{k}", float(rng.normal())), body).connect(body, I(f"m{k}", float(rng.uniform(0.5, 3))))
        graph.connect(body, R(f"b{k}", float(rng.uniform(0.1, 1))))
    left = [most]
    pairs = [(a, b) for a in range(count) for b in range(a)]
    for n, (a, b) in enumerate(pairs):
        if left[0] and (n == 0 or rng.random() < 0.8):
            top = J1(f"rel{n}", domain=DOMAIN)
            force = J0(f"f{n}", domain=DOMAIN)
            graph.connect(bodies[a], force).connect(force, bodies[b]).connect(force, top)
            branch(graph, rng, top, f"{n}", 2, left)
    return graph


def branch(graph: Graph, rng: np.random.Generator, at, name: str, depth: int, left: list[int]) -> None:
    for k in range(int(rng.integers(2, 4)) if depth == 2 else 2):
        own = f"{name}.{k}".replace(".", "_")
        if depth and left[0] > 1 and rng.random() < 0.4:
            kind = J0 if at.kind == "1" else J1
            below = kind(f"n{own}", domain=DOMAIN)
            if rng.random() < 0.3:
                turn = TF(f"t{own}", float(rng.uniform(0.4, 2.5)))
                graph.connect(at, turn).connect(turn, below)
            else:
                graph.connect(at, below)
            branch(graph, rng, below, own, depth - 1, left)
        elif left[0] and rng.random() < 0.85:
            left[0] -= 1
            graph.connect(at, ideal(graph, rng, own))
        else:
            graph.connect(at, R(f"r{own}", float(rng.uniform(0.2, 3))))


def ideal(graph: Graph, rng: np.random.Generator, own: str):
    match int(rng.integers(4)):
        case 0:
            return Friction(f"c{own}", float(rng.uniform(0.2, 2)))
        case 1:
            return Diode(f"d{own}")
        case 2:
            graph.add_automaton(Automaton(f"gate{own}", ("open", "closed"), "open", ()))
            return Switch(f"s{own}", automaton=f"gate{own}", closed="closed")
        case _:
            graph.add_automaton(Automaton(f"latch{own}", ("free", "held"), "free", ()))
            return Constraint(f"k{own}", automaton=f"latch{own}", active="held", holds="velocity")


@dataclass(frozen=True)
class BruteForce:
    """Implications of a model's relations and their first two derivatives in one mode, found by singular value decomposition."""

    agrees: bool
    decides: bool
    states: dict[str, float]
    rates: dict[str, float]


def brute_force(compiled: Compiled, modes: Mapping[str, str], near: Mapping[str, float]) -> BruteForce:
    ideal = [path for path, e in compiled.model.elements.items() if isinstance(e.law, (IdealConstraint, IdealSwitch))]
    system = Descriptor(compiled.model, modes, compiled.causality, ideal)
    n, zero = system.size, np.zeros((system.size, system.size))
    rows = np.block([[system.M, system.N, zero, zero], [zero, system.M, system.N, zero], [zero, zero, system.M, system.N]])
    right = np.concatenate([system.b, np.zeros(2 * n)])
    sizes = np.abs(rows).max(axis=1)
    rows, right = rows / sizes[:, None], right / sizes
    places = {path: system.state(path).start for path in near}
    some, free, _ = _solved(rows, right)
    pick = list(places.values())
    nearest = np.linalg.lstsq(free[pick], np.array(list(near.values())) - some[pick], rcond=1e-9)[0]
    x = (some + free @ nearest)[pick]
    fixed = np.eye(4 * n)[pick]
    solution, left, misfit = _solved(np.vstack([rows, fixed]), np.append(right, x))
    agrees = misfit < 1e-8 * (1.0 + np.abs(solution).max())
    decides = all(np.abs(left[n + place]).max(initial=0.0) < 1e-7 for place in pick)
    rates = {path: float(solution[n + place]) for path, place in places.items()}
    return BruteForce(agrees, decides, dict(zip(near, map(float, x), strict=True)), rates)


def _solved(rows: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    u, s, vt = np.linalg.svd(rows, full_matrices=True)
    rank = int(np.sum(s > 1e-9 * s[0]))
    solution = vt[:rank].T @ ((u[:, :rank].T @ right) / s[:rank])
    return solution, vt[rank:].T, float(np.abs(rows @ solution - right).max())
