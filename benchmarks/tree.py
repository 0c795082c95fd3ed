"""Long chains of links: time to build a right-hand side, and its cost relative to the mass matrix and Pinocchio's recursion.

`python -m benchmarks.tree [--quick] [--json FILE]`
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from screwbond.models.chains import BodyInertia, Chain, Link, bias, chain_graph, forward_dynamics, mass_matrix, potential
from screwbond.models.chains.dynamics import inertia_numbers

from benchmarks.command import run_command
from benchmarks.hand_written import Disagreement
from benchmarks.timing import interleaved, median, processor, ratio, table, without_cache
from bondgraph import Compiled, Graph, Se, compile_formula, compile_model, count_operations
from bondgraph.model.mechanics import partials
from screws import joints, pose
from screws.linear import solve_spd

SIZES = (2, 5, 10, 20, 50, 100)
LARGEST_MATRIX = 50
"""Number of links up to which the mass matrix is also formed and solved; with more links, generating the code takes minutes."""
GRAVITY = np.array([0.0, 0.0, -9.81])
SAMPLES = 200
AGREEMENT = 1e-9
"""Allowed relative difference of accelerations between two methods: long chains are ill-conditioned."""


def rods(count: int) -> Chain:
    """Return rods of 0.1 m in a row, hinged about y and x in turn."""
    axes = ((0, 1, 0), (1, 0, 0))
    rod = BodyInertia(1.0, (8.4e-4, 8.4e-4, 2e-5), (0, 0, -0.05))
    places = [(0, 0, -0.1 * k) for k in range(count)]
    links = (Link(f"rod {k}", joints.revolute(axes[k % 2], p), rod, pose(np.eye(3), p)) for k, p in enumerate(places))
    return Chain("rods", tuple(links))


def oblique(count: int) -> Chain:
    """Return general bodies on hinges with random axes."""
    rng = np.random.default_rng(0)
    links = []
    for k in range(count):
        A = 0.05 * rng.normal(size=(3, 3))
        body = BodyInertia(1.0, np.trace(A @ A.T) * np.eye(3) - A @ A.T, 0.05 * rng.normal(size=3))
        place = 0.1 * k * np.array([0.6, 0.0, -0.8])
        links.append(Link(f"body {k}", joints.revolute(rng.normal(size=3), place), body, pose(np.eye(3), place)))
    return Chain("oblique", tuple(links))


CHAINS = {"rods": rods, "oblique": oblique}


def construction(chain: Chain) -> tuple[Compiled, float]:
    with without_cache():
        begin = time.perf_counter()
        part = chain_graph(chain, gravity=GRAVITY)
        compiled = compile_model(Graph("top").connect(part.port("joints"), Se("idle", dimension=chain.freedoms)))
        (x, m), p = compiled.initial(), compiled.parameters()
        compiled.program.rates(0.0, x, p, m)
        return compiled, time.perf_counter() - begin


def ways(chain: Chain) -> dict[str, Callable[..., dict[str, Any]]]:
    """Return functions that compute v' without efforts from q, v and the parameters of the inertias."""

    def by_matrix(q: Any, v: Any, p: Any) -> dict[str, Any]:
        weight = partials(lambda at: [potential(chain, GRAVITY, at, *p)], q, (p,))[0]
        return {"v'": solve_spd(mass_matrix(chain, q, *p), -bias(chain, q, v, *p) - weight)}

    def by_recursion(q: Any, v: Any, p: Any) -> dict[str, Any]:
        return {"v'": forward_dynamics(chain, q, v, np.zeros(chain.freedoms), GRAVITY, *p)}

    return {"mass matrix": by_matrix, "recursion": by_recursion}


def pinocchio_of(chain: Chain) -> Any:
    """Return Pinocchio's module and the chain as its model, or None if Pinocchio is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model, number, before = pin.Model(), 0, np.zeros(3)
    model.gravity.linear = GRAVITY
    aligned = {(1, 0, 0): pin.JointModelRX, (0, 1, 0): pin.JointModelRY, (0, 0, 1): pin.JointModelRZ}
    for link in chain.links:
        omega, place = link.joint.screws[:3, 0], link.home[:3, 3]
        kind = aligned.get(tuple(omega.tolist()))
        joint = kind() if kind else pin.JointModelRevoluteUnaligned(omega)
        number = model.addJoint(number, joint, pin.SE3(np.eye(3), place - before), link.name)
        assert link.inertia is not None
        body = pin.Inertia(link.inertia.mass, link.inertia.centre, link.inertia.rotational)
        model.appendBodyToJoint(number, body, pin.SE3.Identity())
        before = place
    return pin, model


def compared(chain: Chain, compiled: Compiled, rounds: int) -> dict[str, Any]:
    n = chain.freedoms
    rng = np.random.default_rng(1)
    x = 0.5 * rng.normal(size=(SAMPLES, 2 * n))
    (_, m), p, t = compiled.initial(), compiled.parameters(), np.zeros(1)
    ours = np.empty_like(x)
    rates = compiled.program.rates
    calls: dict[str, Callable[[], Any]] = {"ours": lambda: rates.many(t, x, p, m, out=ours)}
    rates.many(t, x, p, m, out=ours)
    v_rates, q, v = ours[:, n:], np.ascontiguousarray(x[:, :n]), np.ascontiguousarray(x[:, n:])
    numbers = np.array([value for value, _ in inertia_numbers(chain).values()])
    sizes = {"q": (n,), "v": (n,), "p": (len(numbers),)}
    found: dict[str, Any] = {}
    for name, way in ways(chain).items():
        if name == "mass matrix" and n > LARGEST_MATRIX:
            continue
        found[f"operations, {name}"] = count_operations(way, sizes, constant=("p",))
        if name == "mass matrix":
            kernel = compile_formula(way, sizes)
            _agree(chain, name, v_rates, kernel.evaluate_many(q, v, numbers)["v'"])
            calls[name] = lambda kernel=kernel: kernel.evaluate_many(q, v, numbers)
    engine = pinocchio_of(chain)
    if engine is not None:
        pin, model = engine
        data, idle = model.createData(), np.zeros(n)
        _agree(chain, "Pinocchio", v_rates, np.array([pin.aba(model, data, *both, idle) for both in zip(q, v, strict=True)]))
        states = list(zip(q, v, strict=True))

        def theirs() -> None:
            for at, speed in states:
                pin.aba(model, data, at, speed, idle)

        def empty() -> None:
            for _ in states:
                pin.neutral(model)

        calls |= {"Pinocchio": theirs, "empty call": empty}
    seconds = {name: values / SAMPLES for name, values in interleaved(calls, rounds).items()}
    if engine is not None:
        seconds["Pinocchio"] = seconds["Pinocchio"] - median(seconds["empty call"])
        found["ratio"] = ratio(seconds["ours"], seconds["Pinocchio"])
    return found | {name: median(values) for name, values in seconds.items()}


def _agree(chain: Chain, name: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    worst = float(np.max(np.abs(ours - theirs).max(axis=1) / np.abs(theirs).max(axis=1)))
    if not worst <= AGREEMENT:
        raise Disagreement(f'chain "{chain.name}" of {chain.freedoms}: accelerations here and by {name} differ by {worst:.1e}')


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run, "small sizes, few repetitions, as a trial")


def _run(quick: bool) -> dict[str, Any]:
    sizes, rounds = (SIZES[:2], 2) if quick else (SIZES, 40)
    construction(rods(3))  # modules that are loaded only once
    found: dict[str, Any] = {"processor": processor()}
    for name, make in CHAINS.items():
        found[name] = {}
        for n in sizes:
            chain = make(n)
            compiled, seconds = construction(chain)
            found[name][n] = {"construction": seconds, **compared(chain, compiled, rounds)}
        print(
            table(
                f"{name}: chain of N links, building and evaluating the right-hand side ({found['processor']})",
                HEAD,
                _rows(found[name]),
            )
        )
    return found


HEAD = ("links", "build s", "operations", "by M(q)", "ours us", "by M(q) us", "Pinocchio us", "ours / Pinocchio")


def _rows(found: dict[int, dict[str, Any]]) -> list[tuple[str, ...]]:
    def shown(part: dict[str, Any], key: str, form: str, scale: float = 1.0) -> str:
        return format(scale * part[key], form) if key in part else "-"

    return [
        (
            str(n),
            shown(part, "construction", ".2f"),
            shown(part, "operations, recursion", ",d", 1),
            shown(part, "operations, mass matrix", ",d", 1),
            shown(part, "ours", ".2f", 1e6),
            shown(part, "mass matrix", ".2f", 1e6),
            shown(part, "Pinocchio", ".2f", 1e6),
            "{median:.2f} ({quartile 1:.2f}-{quartile 3:.2f})".format(**part["ratio"]) if "ratio" in part else "not installed",
        )
        for n, part in found.items()
    ]


if __name__ == "__main__":
    main()
