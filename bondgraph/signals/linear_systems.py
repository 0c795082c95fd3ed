"""Linear systems as signal blocks, continuous or sampled: transfer functions and state space, from numbers or a system object.

A system object comes from python-control or `scipy.signal`, or is a `Linear` or `TransferFunction` of `bondgraph.analysis`: any
object with `num` and `den`, or `A`, `B`, `C`, `D`, and perhaps `dt` or `period`, s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from bondgraph.elements import Element
from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import names_of, spelled_out
from bondgraph.model.laws import StateSpec
from bondgraph.model.ops import Op
from bondgraph.quantities import real
from bondgraph.signals import formulas
from bondgraph.signals.arguments import BlockBuilder, Format, coefficients, inputs_of, need_positive, same_unit, start_values
from screws.errors import plural


@spelled_out
def transfer_function(
    name: str,
    input: str,
    num: Any,
    den: Sequence[float] | None = None,
    *,
    period: Any = None,
    offset: Any = 0.0,
    initial: Any = 0.0,
    nominal: float | None = None,
    **shown: Unpack[Format],
) -> Element:
    """Return a transfer function y = num(s) / den(s) u, with coefficients given from the highest power down, in controllable
    canonical form; with a `period`, s, it is num(z) / den(z), sampled and held between ticks.

    The state `x` (n,) is w, w', w'' ... with den(d/dt) w = u, so that y = num(d/dt) w; n is the degree of den. With a period, it
    is w[k] and the n - 1 following samples. `num` and `den` are run-time parameters, without leading zeros. `num` alone may be a
    system object from python-control, SciPy or `linearise` with one input and one output.

    Raises `ModelError` E142 unless the period is positive, E144 if num has a higher degree than den, E145 for invalid
    coefficients or start values, E443 for an unsuitable system object.
    """
    if den is None:
        num, den, period = _quotient(name, num, period)
    above, below = coefficients(name, "num", num), coefficients(name, "den", den)
    order, scale = len(below) - 1, np.abs(below)
    if len(above) > len(below):
        title, why = f'transfer function "{name}" is not proper', f"num has degree {len(above) - 1}, den has degree {order}"
        raise refusal("E144", title, "a filter with more poles, as a real differentiator has", about=name, why=why)
    builder = BlockBuilder(name, inputs={"u": input}, parameters={"num": same_unit(num, above), "den": same_unit(den, below)})
    builder.symbols |= {"num": "b", "den": "a"}
    if order == 0:
        return _block(builder, None, formulas.RATIO, ("u", "num", "den"), period, offset, **shown)
    start = start_values(initial, order)
    if np.shape(start) != (order,):
        title = f'transfer function "{name}": {initial!r} is not a start value of its state'
        meaning = "x and its derivatives, lowest first" if period is None else "x and the following samples"
        raise refusal("E145", title, f"{plural(order, 'number')}: {meaning}", about=name, why=f"x has shape ({order},)")
    pole = 1.0
    if period is None:
        # The geometric mean of the poles that are not zero: x^(k) is of the size of pole^k x.
        last = int(np.flatnonzero(scale)[-1])
        pole = (scale[last] / scale[0]) ** (1.0 / last) if last else 1.0
    spec = StateSpec(start, None if nominal is None else nominal * pole ** np.arange(-order, 0.0) / scale[0])
    rate = "rate" if period is None else "next"
    builder.add(rate, formulas.CANONICAL_RATE, "x", "u", "den")
    if len(above) < len(below):
        return _block(builder, spec, formulas.CANONICAL_RESULT_OF_STATE, ("x", "num"), period, offset, **shown)
    return _block(builder, spec, formulas.CANONICAL_RESULT, ("x", rate, "num"), period, offset, **shown)


@spelled_out
def state_space(
    name: str,
    inputs: str | Sequence[str],
    A: Any,
    B: Any = None,
    C: Any = None,
    D: Any = None,
    *,
    period: Any = None,
    offset: Any = 0.0,
    initial: Any = 0.0,
    **shown: Unpack[Format],
) -> Element:
    """Return a state-space system x' = A x + B u, y = C x + D u; with a `period`, s, it is sampled, x[k+1] = A x[k] + B u[k],
    and y is held between ticks.

    The inputs u are the paths of numbers, or of one vector; `y` is a number for one row of C, else a vector. A (n, n), B (n,
    inputs), C (outputs, n) and D (outputs, inputs) are run-time parameters; a D of zeros is left out, so that no algebraic loop
    passes through it. `A` alone may be a system object from python-control, SciPy or `linearise`.

    Raises `ModelError` E142 unless the period is positive, E443 for matrices or start values that are not finite numbers or do
    not match each other or the inputs, and for an unsuitable system object.
    """
    paths = names_of(inputs, "inputs", name)
    if B is None:
        (A, B, C, D), period = _matrices(name, A, period)
    a, b, c, d = _checked_matrices(name, (A, B, C, D), paths)
    local, single = inputs_of(paths), len(c) == 1
    builder = BlockBuilder(name, inputs=local)
    if not len(a):
        builder.parameters["D"] = d
        static = formulas.matrix_times(len(local), single)
        return _block(builder, None, static, ("D", *local), period, offset, len(c), **shown)
    start = start_values(initial, len(a))
    if np.shape(start) != (len(a),):
        raise _refused(
            name, f"{initial!r} is not a start value of its state", f"x has shape ({len(a)},)", f"{plural(len(a), 'number')}"
        )
    builder.parameters |= {"A": a, "B": b, "C": c}
    builder.add("rate" if period is None else "next", formulas.state_space(len(local), False), "x", "A", "B", *local)
    if not np.any(d):
        return _block(builder, StateSpec(start), formulas.matrix_times(1, single), ("C", "x"), period, offset, len(c), **shown)
    builder.parameters["D"] = d
    output = formulas.state_space(len(local), single)
    return _block(builder, StateSpec(start), output, ("x", "C", "D", *local), period, offset, len(c), **shown)


def _block(
    builder: BlockBuilder,
    spec: StateSpec | None,
    output: Op,
    arguments: Sequence[str],
    period: Any,
    offset: Any,
    rows: int = 1,
    **shown: Unpack[Format],
) -> Element:
    """Return the block with an output of `rows` numbers. A state x has the rate `rate` or, with a period, becomes `next` at each
    tick; the output is then held, and zero before the first tick."""
    if period is None:
        if spec is not None:
            builder.add_state("x", spec, "rate")
        builder.units["y"], builder.symbols["y"] = shown.get("unit", ""), shown.get("symbol", "")
        builder.add("y", output, *arguments)
        return builder.block()
    need_positive("sampled linear system", builder.name, period=period)
    builder.period, builder.offset = period, offset
    builder.states["y"], builder.updates["y"] = StateSpec(np.zeros(rows) if rows > 1 else 0.0, None, **shown), "y_next"
    if spec is not None:
        builder.states["x"], builder.updates["x"] = spec, "next"
    builder.symbols |= {"y_next": "y^{+}", "next": "x^{+}"}
    builder.add("y_next", output, *arguments)
    return builder.block()


def _period_of(name: str, system: Any, period: Any) -> Any:
    clock = getattr(system, "dt", getattr(system, "period", None))
    if clock is True:
        raise _refused(
            name, "the system is sampled, but its period is unknown", "dt=True", "a system whose dt is its period in s"
        )
    if period is not None and period != clock:
        kind = f"sampled every {clock:g} s" if clock else "continuous"
        cures = ("the system without period=", "the system sampled by c2d" if not clock else "a system with this period")
        raise _refused(name, f"period={period!r}, but the system is {kind}", "a system object has its own period", *cures)
    return clock or None


def _quotient(name: str, system: Any, period: Any) -> tuple[Any, Any, Any]:
    if not hasattr(system, "num") and hasattr(system, "transfer_function"):
        system = system.transfer_function()
    num, den = (_single(getattr(system, key, None)) for key in ("num", "den"))
    if num is None or den is None:
        title = f"{type(system).__name__} is not a transfer function from one input to one output"
        several = "state_space(name, inputs, control.ss(system)), for several inputs or outputs"
        ways = _conversions(system, "tf") or ((several,) if hasattr(system, "num") else ())
        raise _refused(name, title, "such an object has num and den", *ways, "transfer_function(name, input, num, den)")
    return num, den, _period_of(name, system, period)


def _conversions(system: Any, kind: str) -> tuple[str, ...]:
    if hasattr(system, "A") or type(system).__module__.startswith("scipy."):
        return (f"system.to_{kind}()",) if hasattr(system, f"to_{kind}") else (f"control.{kind}(system)",)
    if hasattr(system, "linearize") and not hasattr(system, "num"):
        return ("system.linearize(x, u), at a state x and input u",)
    return ()


def _single(polynomial: Any) -> np.ndarray | None:
    """Return the coefficients (n,) of one polynomial, which python-control wraps in lists of outputs and inputs."""
    while isinstance(polynomial, (list, np.ndarray)) and len(polynomial) == 1 and isinstance(polynomial[0], (list, np.ndarray)):
        polynomial = polynomial[0]
    numbers = real(polynomial)
    return numbers if numbers is not None and numbers.ndim == 1 else None


def _matrices(name: str, system: Any, period: Any) -> tuple[tuple[Any, ...], Any]:
    if not all(hasattr(system, letter) for letter in "ABCD"):
        kind = f"{type(system).__name__} is not a state space"
        ways = _conversions(system, "ss") or (("control.ss(system)",) if hasattr(system, "num") else ())
        raise _refused(name, kind, "such an object has A, B, C and D", *ways, "matrices A, B, C")
    matrices = (getattr(system, letter) for letter in "ABCD")
    return tuple(m.toarray() if hasattr(m, "toarray") else m for m in matrices), _period_of(name, system, period)


def _checked_matrices(name: str, matrices: Sequence[Any], paths: Sequence[str]) -> list[np.ndarray]:
    """Return A (n, n), B (n, m), C (p, n), D (p, m); raise E443 unless the shapes match each other, and m matches the inputs."""
    numbers: list[np.ndarray] = []
    for letter, value in zip("ABCD", matrices, strict=True):
        if letter == "D" and value is None:
            value = np.zeros((len(numbers[2]), numbers[1].shape[1]))
        matrix = real(value)
        if matrix is None or not np.isfinite(matrix).all():
            is_system = hasattr(value, "dt") or hasattr(value, "A")
            cure = "the system alone, which has its own matrices" if is_system else f"{letter}=[[...], [...]]"
            raise _refused(name, f"{letter} is not a matrix of finite numbers", f"given: {value!r}", cure)
        numbers.append(matrix[:, None] if letter == "B" and matrix.ndim == 1 else np.atleast_2d(matrix))
    a, b, c, d = numbers
    n, m, p = a.shape[1] if a.size else 0, (b if b.size else d).shape[1], (c if c.size else d).shape[0]
    a, b, c = (each if each.size else np.zeros(shape) for each, shape in ((a, (n, n)), (b, (n, m)), (c, (p, n))))
    shapes = {"A": (a, (n, n)), "B": (b, (n, m)), "C": (c, (p, n)), "D": (d, (p, m))}
    wrong = [f"{letter} has shape {each.shape}, not {shape}" for letter, (each, shape) in shapes.items() if each.shape != shape]
    if wrong:
        raise _refused(name, "its matrices have inconsistent shapes", "; ".join(wrong), "A (n, n), B (n, inputs), C (outputs, n)")
    if len(paths) not in (1, m):
        letter, cures = "B" if n else "D", (plural(m, "path"), "the path of one vector")
        title, why = f"{letter} does not match {plural(len(paths), 'input')}", f"{letter} has {plural(m, 'column')}"
        raise _refused(name, title, why, *cures[: 1 + (m > 1)])
    return [a, b, c, d]


def _refused(name: str, title: str, why: str, *cures: str) -> ModelError:
    return refusal("E443", f'linear system "{name}": {title}', *cures, about=name, why=why)
