"""JAX functions of a compiled model: its routines with their derivatives, for `jit`, `vmap`, `grad`, diffrax and optax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.compile.kernels import kernels_of
from bondgraph.compile.pipeline import Compilable
from bondgraph.emit.kernel import Kernel
from bondgraph.errors import refusal
from bondgraph.export.code.content import BLOCKS
from bondgraph.export.code.self_contained import SelfContained, evaluate_steps, self_contained
from bondgraph.output.extras import require_package
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.routine import Routine

LOWERINGS = ("callback", "xla")


def to_jax(model: Compilable, routine: str = "rates", *, lower: str = "callback") -> Callable[..., Any]:
    """Return a function (t, x, p, m) -> results of a routine, which JAX differentiates, batches and compiles.

    t is the time in s; x are the states and m the modes, as `compiled.initial()` returns them; p is the vector
    `compiled.parameters()`, whose entries after the parameters are ignored; time derivatives of p count as zero. Derivatives
    with respect to modes are zero.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    routine : name of one of the `straight_lines` except `prepare`: "rates", "outputs", "guards", "reset_0", "tick_0" ...
    lower : "callback" calls the model's machine code on the CPU, also for exact first derivatives with respect to t, x and p, in
        forward and reverse mode; "xla" writes the steps in JAX, for other devices and higher derivatives.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E660 for an unknown routine, E661 for an
    unknown `lower`, E662 if JAX uses 32-bit floats; `ExtraError` E416 without JAX.
    """
    require_package("a JAX function", "jax")
    if lower not in LOWERINGS:
        title = f'to_jax cannot lower to "{lower}"'
        raise refusal("E661", title, *(f'lower="{word}"' for word in LOWERINGS), about="to_jax")
    import jax

    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        cure = 'jax.config.update("jax_enable_x64", True), before the first array'
        why = "seven digits are too few for the error control of most runs"
        raise refusal("E662", "JAX uses 32-bit floats, but a model needs 64 bits", cure, about="to_jax", why=why)
    source = self_contained(model, routine, "to_jax")
    return _xla_function(source) if lower == "xla" else _callback_function(source)


def _xla_function(source: SelfContained) -> Callable[..., Any]:
    import jax.numpy as jnp

    forms = jax_forms()

    def function(t: Any, x: Any, p: Any, m: Any) -> Any:
        blocks = (jnp.reshape(t, (1,)), *(jnp.asarray(block, float) for block in (x, p, m)))
        return jnp.stack([jnp.asarray(value, float) for value in evaluate_steps(source.steps, blocks, forms)])

    return function


def _callback_function(source: SelfContained) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    routine = source.on_tape()
    moving = BLOCKS[:-1]
    by = [scalar for block in moving for scalar in routine.tape.inputs(block, dict(routine.blocks)[block])]
    sparse = jacobian(routine.outputs, by)
    slopes = Routine("slopes", routine.tape, routine.blocks, sparse.values)
    value = Routine("value", routine.tape, routine.blocks, routine.outputs)
    kernels = kernels_of({"value": value, "slopes": slopes}, "auto")
    rows, columns = (np.array(places, dtype=int) for places in (sparse.rows, sparse.columns))
    evaluate = _host(kernels["value"], source.sizes)
    differentiate = _host(kernels["slopes"], source.sizes) if len(rows) else None

    @jax.custom_jvp
    def smooth(t: Any, x: Any, p: Any, m: Any) -> Any:
        return evaluate(t, x, p, m)

    @smooth.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        change = jnp.zeros(len(routine.outputs))
        if differentiate is not None:
            change = change.at[rows].add(differentiate(*primals) * jnp.concatenate(tangents[:-1])[columns])
        return smooth(*primals), change

    def function(t: Any, x: Any, p: Any, m: Any) -> Any:
        blocks = [jnp.asarray(block, float) for block in (t, x, p, m)]
        return smooth(blocks[0].reshape(1), blocks[1], blocks[2][: source.sizes[2]], blocks[3])

    return function


def _host(kernel: Kernel, sizes: tuple[int, ...]) -> Callable[..., Any]:
    import jax

    def call(*blocks: Any) -> np.ndarray:
        lead = np.broadcast_shapes(*(np.shape(block)[:-1] for block in blocks))
        count = math.prod(lead)
        rows = [np.broadcast_to(block, (*lead, size)).reshape(count, size) for block, size in zip(blocks, sizes, strict=True)]
        return kernel.many(*rows).reshape(*lead, kernel.n_out)

    result = jax.ShapeDtypeStruct((kernel.n_out,), float)
    return lambda *blocks: jax.pure_callback(call, result, *blocks, vmap_method="expand_dims")


def jax_forms() -> dict[str, Callable[..., Any]]:
    import jax.numpy as jnp

    def take(index: Any, values: list[Any]) -> Any:
        place = jnp.clip(jnp.nan_to_num(index), 0, len(values) - 1).astype(int)
        return jnp.stack([jnp.asarray(value, float) for value in values])[place]

    special: dict[str, Callable[..., Any]] = {
        "asin": jnp.arcsin,
        "acos": jnp.arccos,
        "atan": jnp.arctan,
        "atan2": jnp.arctan2,
        "both": jnp.logical_and,
        "either": jnp.logical_or,
        "opposite": jnp.logical_not,
        "searchsorted": lambda u, points: sum((jnp.asarray(point <= u, float) for point in points), 0.0),
        "take": take,
    }
    return special | {name: getattr(jnp, name) for name in op.NAMES[op.ADD :] if name not in special}
