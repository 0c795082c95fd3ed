"""Small programs that test the run, each made of formulas of (t, x, p, m)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from screws import scalars as s
from tests.inner.compile import lanes_of
from tests.inner.emit import compile_routines, numpy_kernel
from tests.inner.run import Layout, Program, RunClock, RunTransition, Slot
from tests.inner.tape import Routine, Tape, jacobian

Formula = Callable[[Any, Any, Any, Any], Sequence[Any]]


def program(
    rates: Formula,
    sizes: tuple[int, int, int],
    guards: Formula | None = None,
    powers: Formula | None = None,
    energies: Formula | None = None,
    outputs: Formula | None = None,
    resets: Sequence[Formula | None] = (),
    transitions: Sequence[RunTransition] = (),
    roles: Sequence[str] = (),
    slots: dict[str, Slot] | None = None,
    shown_units: dict[str, str] | None = None,
    nominal: Any = None,
    machine: bool = True,
    with_jacobian: bool = True,
    fused: bool = False,
    scales: Sequence[float] | None = None,
    ticks: Sequence[tuple[float, float, Formula]] = (),
) -> Program:
    """Return a program; `scales` are the new units per old unit of each state, `ticks` the period, offset and x after a tick."""
    tape = Tape()
    n, np_, nm = sizes
    blocks = (("t", 1), ("x", n), ("p", np_), ("m", nm))
    t, x, p, m = (tape.inputs(name, length) for name, length in blocks)
    routines = {}
    units = [1.0] * n if scales is None else [float(scale) for scale in scales]
    old = [value / unit for value, unit in zip(x, units, strict=True)] if scales is not None else x

    def add(name: str, formula: Formula | None) -> None:
        if formula is None:
            return
        found = list(formula(t[0], old, p, m))
        if scales is not None and name.startswith(("rates", "reset", "tick")):
            found = [unit * value for unit, value in zip(units, found, strict=True)]
        routines[name] = Routine(name, tape, blocks, tuple(found))

    for name, formula in (("rates", rates), ("guards", guards), ("powers", powers), ("energies", energies), ("outputs", outputs)):
        add(name, formula)
    for i, reset in enumerate(resets):
        add(f"reset{i}", reset)
    for i, (_, _, formula) in enumerate(ticks):
        add(f"tick{i}", formula)
    pattern = None
    if with_jacobian:
        found = jacobian(routines["rates"].outputs, x)
        order = np.lexsort((found.rows, found.columns))
        rows, columns = np.asarray(found.rows)[order], np.asarray(found.columns)[order]
        pattern = (np.searchsorted(columns, np.arange(n + 1)), rows)
        routines["jacobian"] = Routine("jacobian", tape, blocks, tuple(found.values[i] for i in order))
    if fused and powers is not None:
        both = (*routines["rates"].outputs, *routines["powers"].outputs)
        routines["rates_and_powers"] = Routine("rates_and_powers", tape, blocks, both)
    if machine:
        library = compile_routines(list(routines.values()))
        kernels = {name: library.kernel(name) for name in routines}
    else:
        kernels = {name: numpy_kernel(routine) for name, routine in routines.items()}
    return Program(
        in_lanes=functools.partial(lanes_of, routines, "llvm") if machine else None,
        name="test",
        nominal=np.zeros(n) if nominal is None else np.asarray(nominal, dtype=float),
        layout=Layout(slots or {}, shown_units or {}),
        resets=tuple(kernels.get(f"reset{i}") for i in range(len(resets))),
        transitions=tuple(transitions),
        differentiate=lambda: (kernels.get("jacobian"), pattern),
        clocks=tuple(RunClock(f"clock {i}", *times, kernels[f"tick{i}"]) for i, (*times, _) in enumerate(ticks)),
        power_roles=tuple(roles),
        rates=kernels["rates"],
        **{k: kernels.get(k) for k in ("guards", "powers", "energies", "outputs", "rates_and_powers")},
    )


def decay(**options: Any) -> Program:
    return program(lambda t, x, p, m: [-p[0] * x[0]], (1, 1, 0), slots={"x": Slot("x", 0)}, **options)


def oscillator(**options: Any) -> Program:
    """Return an oscillator of mass 1 with the parameters (stiffness, damping) and the states position and velocity."""
    slots = {"spring.q": Slot("x", 0), "mass.v": Slot("x", 1), "force": Slot("out", 0)}
    return program(
        lambda t, x, p, m: [x[1], -p[0] * x[0] - p[1] * x[1]],
        (2, 2, 0),
        powers=lambda t, x, p, m: [p[1] * x[1] * x[1]],
        energies=lambda t, x, p, m: [0.5 * p[0] * x[0] * x[0], 0.5 * x[1] * x[1]],
        outputs=lambda t, x, p, m: [-p[0] * x[0] - p[1] * x[1]],
        roles=("dissipated",),
        slots=slots,
        shown_units={"spring.q": "m", "mass.v": "m/s", "force": "N"},
        **options,
    )


def top(**options: Any) -> Program:
    """Return a free rigid body with three inertias as parameters, and body angular velocity and attitude quaternion as states."""

    def rates(t: Any, x: Any, p: Any, m: Any) -> list[Any]:
        w, q = x[:3], x[3:]
        return [
            (p[1] - p[2]) * w[1] * w[2] / p[0],
            (p[2] - p[0]) * w[2] * w[0] / p[1],
            (p[0] - p[1]) * w[0] * w[1] / p[2],
            0.5 * (-q[1] * w[0] - q[2] * w[1] - q[3] * w[2]),
            0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]),
            0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]),
            0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]),
        ]

    return program(
        rates, (7, 3, 0), energies=lambda t, x, p, m: [0.5 * (p[0] * x[0] ** 2 + p[1] * x[1] ** 2 + p[2] * x[2] ** 2)], **options
    )


def ball(**options: Any) -> Program:
    """Return a ball under gravity whose impacts are events, with the parameters (g, restitution) and the states height and
    velocity."""
    return program(
        lambda t, x, p, m: [x[1], -p[0]],
        (2, 2, 1),
        guards=lambda t, x, p, m: [-x[0]],
        energies=lambda t, x, p, m: [p[0] * x[0], 0.5 * x[1] * x[1]],
        resets=[lambda t, x, p, m: [x[0], -p[1] * x[1]]],
        transitions=[RunTransition("floor", 0, 0.0, 0.0, "impact")],
        slots={"height": Slot("x", 0), "velocity": Slot("x", 1)},
        shown_units={"height": "m", "velocity": "m/s"},
        **options,
    )


def bumper(**options: Any) -> Program:
    """Return a mass of 1 that hits a wall with a spring, with the parameters (stiffness, damping); mode 1 is contact."""

    def force(x: Any, p: Any, m: Any) -> Any:
        return m[0] * (p[0] * x[0] + p[1] * x[1])

    return program(
        lambda t, x, p, m: [x[1], -force(x, p, m)],
        (2, 2, 1),
        guards=lambda t, x, p, m: [s.where(s.less(m[0], 0.5), x[0], -1.0), s.where(s.less(m[0], 0.5), -1.0, -x[0])],
        powers=lambda t, x, p, m: [m[0] * p[1] * x[1] * x[1]],
        energies=lambda t, x, p, m: [0.5 * m[0] * p[0] * x[0] * x[0], 0.5 * x[1] * x[1]],
        transitions=[RunTransition("wall", 0, 0.0, 1.0, "contact on"), RunTransition("wall", 0, 1.0, 0.0, "contact off")],
        roles=("dissipated",),
        slots={"mass.x": Slot("x", 0), "mass.v": Slot("x", 1), "wall.mode": Slot("m", 0)},
        **options,
    )


def beam_rates(t: Any, x: Sequence[Any], stiffness: Any, force: Any) -> list[Any]:
    """Return the rates of an elastic beam, clamped at one end and pushed at the other; x holds the angles of its links, then
    their rates.

    Near rest, tiny couplings connect all links directly.
    """
    links = len(x) // 2
    angles, spins = x[:links], x[links:]
    line, pull = [-angles[0], *angles, angles[links - 1]], sum(spin * spin for spin in spins)
    bends = [stiffness * (line[i] - 2.0 * line[i + 1] + line[i + 2]) for i in range(links)]
    bends[-1] = bends[-1] + force * s.sin(t) * s.sin(t)
    beside = [-bends[0], *bends, bends[links - 1]]
    turns = [2.0 * beside[i + 1] - beside[i] - beside[i + 2] + pull * (line[i + 1] - line[i]) for i in range(links)]
    return [*spins, *turns]


def beam(links: int, **options: Any) -> Program:
    """Return a beam at rest with the parameters (stiffness, force)."""
    return program(lambda t, x, p, m: beam_rates(t, x, p[0], p[1]), (2 * links, 2, 0), **options)


def vanderpol():
    return program(lambda t, x, p, m: [x[1], p[0] * ((1.0 - x[0] * x[0]) * x[1]) - p[1] * x[0]], (2, 2, 0))


def robertson(**options):
    def rates(t, x, p, m):
        fast, slow = 1e4 * x[1] * x[2], 0.04 * x[0]
        return [fast - slow, slow - fast - 3e7 * x[1] * x[1], 3e7 * x[1] * x[1]]

    return program(rates, (3, 0, 0), **options)
