"""IC element: the configuration of a mechanism as one storage, with its kinetic and potential energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.errors import refusal
from bondgraph.model.arguments import in_unit, one_of, parameters_of, spelled_out, start_of
from bondgraph.model.element import Element, OnePort, one_port
from bondgraph.model.laws import ByMode, InertialField, StateSpec
from bondgraph.model.mechanics import Mechanics, on_bond
from bondgraph.model.ops import IDENTITY, Op, notes_of, sources_of


@spelled_out
def IC(
    name: str,
    *,
    inertia: Callable[..., Any] | None = None,
    kinetic: Callable[..., Any] | None = None,
    potential: Callable[..., Any] | None = None,
    bias: Callable[..., Any] | None = None,
    acceleration: Callable[..., Any] | None = None,
    form: str = "lagrangian",
    position: Any = 0.0,
    velocity: Any = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    nominal: Any = None,
    **port: Unpack[OnePort],
) -> Element:
    """Return an IC storage of n coordinates q with energy T + V: effort in, flow q' out, inertia that depends on the
    configuration.

    In Lagrangian form its states are q and v, M v' + h + dV/dq = e; in Hamiltonian form q and p = M v, p' = e - dH/dq. All
    derivatives come from the compiler.

    Parameters
    ----------
    inertia : M(q, *parameters, *signals), symmetric positive definite (n, n), a diagonal (n,) or a number; or `kinetic`.
    kinetic : T(q, v, *parameters, *signals) in J, quadratic in v.
    potential : V(q, *parameters, *signals) in J; zero by default.
    bias : h(q, v, *parameters, *signals), centrifugal and Coriolis forces (n,); M' v - dT/dq by default.
    acceleration : v'(q, v, e, *parameters, *signals), (n,), the solution of M v' + h + dV/dq = e, for a recursion with fewer
        operations than forming M and solving; with it, both `inertia` and `kinetic` may be given.
    form : "lagrangian" or "hamiltonian".
    position, velocity : q and v at the start, (n,) or, for one coordinate in scalar formulas, numbers; at rest by default.
    nominal : typical size of the states, or {"q": ..., "v": ...} (or "p").

    Signals that change T during motion do so without power: use the Hamiltonian form for them; the Lagrangian form lacks the
    force due to their rate.

    Raises `ModelError` E110 if neither or (without `acceleration`) both of `inertia` and `kinetic` are given, for both `bias` and
    `acceleration`, and for either in Hamiltonian form; E135 for another `form`, or a start momentum that depends on signals or
    modes.

    Source: Breedveld 1984 (IC element); Lagrange's and Hamilton's equations.
    """
    if acceleration is None or inertia is None:
        one_of("IC", name, inertia=inertia, kinetic=kinetic)
    if form not in ("lagrangian", "hamiltonian"):
        title, cure = f'IC "{name}" cannot have form {form!r}', 'form="lagrangian" or form="hamiltonian"'
        raise refusal("E135", title, cure, about=name)
    lagrangian = form == "lagrangian"
    more = {key: formula for key, formula in (("bias", bias), ("acceleration", acceleration)) if formula is not None}
    if more and not lagrangian:
        title = f'IC "{name}" in Hamiltonian form cannot use {" and ".join(more)}'
        raise refusal("E110", title, f"leave out {' and '.join(more)}", 'form="lagrangian"', about=name)
    if len(more) > 1:
        raise refusal("E110", f'IC "{name}" cannot use both bias and acceleration', "acceleration alone", about=name)
    dimension = port.get("dimension")
    q, scalar = _start(name, position, dimension)
    v = np.zeros(np.shape(q)) if velocity is None else _start(name, velocity, dimension)[0]
    values = parameters_of(parameters or {})
    formulas = (inertia, 1), (kinetic, 2), (potential, 1), (bias, 2), (acceleration, 3)
    inertia, kinetic, potential, bias, acceleration = (
        bound(name, formula, count, parameters, signals) for formula, count in formulas
    )
    mechanics = Mechanics(inertia, kinetic, potential, bias, acceleration, scalar)
    if not lagrangian and np.any(v):
        if signals or any(isinstance(value.value, ByMode) for value in values.values()):
            title = f'IC "{name}" cannot have a start momentum that depends on signals or modes'
            raise refusal("E135", title, f'omit velocity here, and give initial={{"{name}.p": ...}} for the run', about=name)
        numbers = [np.asarray(in_unit(name, key, each, each.expected), dtype=float)[()] for key, each in values.items()]
        v = np.asarray(on_bond(mechanics, Mechanics.momentum, 2)(q, v, *numbers), dtype=float)[()]
    law = _law(mechanics, lagrangian, q, v, nominal)
    port["dimension"] = max(int(np.size(q)), 1) if dimension is None else dimension
    return one_port("IC", name, law, values, paths_of(signals), **port)


def _start(name: str, value: Any, dimension: int | None) -> tuple[Any, bool]:
    start = start_of(name, value, dimension)
    if np.shape(start) == (1,) and isinstance(start, np.ndarray):
        return start[0], False
    return start, np.ndim(start) == 0


def _law(mechanics: Mechanics, lagrangian: bool, q: Any, v: Any, nominal: Any) -> InertialField:
    sizes = nominal if isinstance(nominal, Mapping) else dict.fromkeys("qvp", nominal)
    motion = "v" if lagrangian else "p"
    rate = Mechanics.acceleration if lagrangian else Mechanics.momentum_rate
    inertial = mechanics.inertia, mechanics.kinetic
    every = *inertial, mechanics.bias, mechanics.solution, mechanics.potential

    def op(name: str, formula: Callable[..., Any], count: int, latex: str, terms: Sequence[Any] = every) -> Op:
        return Op(name, on_bond(mechanics, formula, count), latex, sources_of(*terms), notes_of(*terms))

    return InertialField(
        StateSpec(q, sizes.get("q")),
        motion,
        StateSpec(v, sizes.get(motion)),
        IDENTITY if lagrangian else op("velocity", Mechanics.velocity, 2, r"M(#1)^{-1}\,#2", inertial),
        op("acceleration" if lagrangian else "momentum rate", rate, 3, _RATES[motion]),
        op("energy", Mechanics.energy, 2, r"\mathcal{H}(#1, #2)"),
        op("momentum", Mechanics.momentum, 2, r"M(#1)\,#2", inertial),
        op("own momentum rate", Mechanics.own_momentum_rate, 2, r"\nabla_{#1} T(#1, #2) - \nabla V(#1)"),
        mechanics,
    )


_RATES = {"v": r"M(#1)^{-1}\left(#3 - h(#1, #2) - \nabla V(#1)\right)", "p": r"#3 + \nabla_{#1} T(#1, #2) - \nabla V(#1)"}
