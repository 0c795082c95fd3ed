"""Sampled signal blocks: states that change at the ticks of a clock of fixed period and are held between them.

The ticks are at `offset` + n `period`, n = 0, 1, ...; both are run-time parameters of the block, in s. A tick sees all signals as
they are at that instant; blocks that tick at the same instant do so in the order in which they were added, so that later blocks
see the new values of earlier blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Unpack

import numpy as np

from bondgraph.elements import Block, Element
from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.errors import refusal
from bondgraph.model.arguments import choice, parameters_of, spelled_out
from bondgraph.model.laws import StateSpec
from bondgraph.model.ops import Op, as_op
from bondgraph.model.units import per_second
from bondgraph.signals import formulas
from bondgraph.signals.arguments import (
    PID_LETTERS,
    BlockBuilder,
    Format,
    Scaled,
    in_seconds,
    inputs_of,
    limits_of,
    need_order,
    need_positive,
    numbers_of,
    of_result,
    start_values,
)


@spelled_out
def sampled(
    name: str,
    update: Op | Callable[..., Any],
    *,
    period: Any,
    offset: Any = 0.0,
    output: Op | Callable[..., Any] | None = None,
    initial: Any = 0.0,
    dimension: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    nominal: Any = None,
    **shown: Unpack[Format],
) -> Element:
    """Return a user-defined discrete-time block: at every tick state = `update`(state, *parameters, *signals).

    Its result `y` is `output`(state, *parameters), and the state is called `x`; without `output`, `y` is the state itself, () or
    (dimension,). Before the first tick the state is `initial`.

    Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("sampled block", name, period=period)
    start, local = start_values(initial, dimension), inputs_of(paths_of(signals))
    builder = BlockBuilder(name, inputs=local, parameters=dict(parameters or {}), period=period, offset=offset)
    update, output = bound(name, update, 1, parameters, signals), bound(name, output, 1, parameters)
    if output is None:
        state, spec = "y", StateSpec(start, nominal, **shown)
    else:
        state, spec = "x", StateSpec(start, nominal)
        builder.units["y"], builder.symbols["y"] = shown.get("unit", ""), shown.get("symbol", "")
    read = [state, *builder.parameters]
    builder.states[state], builder.updates[state] = spec, "next"
    builder.add("next", as_op(update), *read, *local)
    if output is not None:
        builder.add("y", as_op(output), *read)
    return builder.block()


@spelled_out
def hold(
    name: str,
    input: str,
    period: Any,
    *,
    offset: Any = 0.0,
    initial: Any = 0.0,
    dimension: int | None = None,
    **result: Unpack[Scaled],
) -> Element:
    """Return a sampler and zero-order hold: y = u at the last tick, () or (dimension,); `initial` before the first tick.

    Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("hold", name, period=period)
    spec = StateSpec(start_values(initial, dimension), **result)
    return Block(name, [], inputs={"u": input}, states={"y": spec}, updates={"y": "u"}, period=period, offset=offset)


@spelled_out
def sampled_derivative(
    name: str,
    input: str,
    period: Any,
    time_constant: Any = 0.0,
    *,
    offset: Any = 0.0,
    dimension: int | None = None,
    **result: Unpack[Scaled],
) -> Element:
    """Return a filtered difference: y[n] = (T y[n-1] + u[n] - u[n-1]) / (T + period), T = `time_constant` in s; y[0] = 0.

    This is the backward-difference form of the derivative s / (T s + 1), and with T = 0 the plain difference quotient.

    Raises `ModelError` E142 unless the period is positive.
    """
    need_positive("sampled derivative", name, period=period)
    parameters = in_seconds(time_constant=time_constant)
    letters = {"time_constant": r"T_{\mathrm{f}}", "y_next": "y^{+}"}
    builder = BlockBuilder(name, inputs={"u": input}, parameters=parameters, period=period, offset=offset, symbols=letters)
    builder.add_difference("u", "y", StateSpec(start_values(0.0, dimension), **result), "y_next", "time_constant")
    return builder.block()


def sampled_pid(
    name: str,
    error: str,
    kp: Any,
    ki: Any = None,
    kd: Any = None,
    *,
    period: Any,
    time_constant: Any = 0.0,
    filter_period: Any = None,
    measurement: str | None = None,
    limits: tuple[Any, Any] | None = None,
    offset: Any = 0.0,
    dimension: int | None = None,
    nominal: Any = None,
    unit: str = "",
    symbol: str = "",
) -> Element:
    """Return a sampled PID controller of a signal e = `error`, held between the ticks: y = kp e + ki integral + kd slope.

    integral[n] = integral[n-1] + period e[n]; slope is the filtered difference of e (see `sampled_derivative`, T =
    `time_constant`), or minus the filtered difference of the signal `measurement`, so that a jump of the goal gives no kick. With
    `filter_period`, a multiple of `period`, the difference is taken only once per `filter_period`. `limits` (lowest, highest)
    clamp y; the integral is frozen while it would push y beyond them.

    Raises `ModelError` E142 for a period that is not positive, E143 for `measurement` or `filter_period` without `kd`,
    E148 unless limits are a pair in this order, E331 for a filter period that is not a multiple of the period.
    """
    need_positive("sampled pid", name, period=period)
    builder = BlockBuilder(
        name, inputs={"u": error}, parameters={"kp": kp}, period=period, offset=offset, symbols=dict(PID_LETTERS)
    )
    zero, parameters = start_values(0.0, dimension), builder.parameters
    arguments, results = ["u", "period", "kp"], ["y_next"]
    builder.states["y"], builder.updates["y"] = StateSpec(zero, nominal, unit, symbol), "y_next"
    if ki is not None:
        parameters["ki"] = ki
        builder.states["integral"], builder.updates["integral"] = StateSpec(zero, nominal, "", "z"), "integral_next"
        arguments += ["ki", "integral"]
        results.append("integral_next")
    if kd is not None:
        parameters |= {"kd": kd, **in_seconds(time_constant=time_constant)}
        if filter_period is not None:
            need_multiple(name, period, filter_period)
            parameters |= in_seconds(filter_period=filter_period)
        if measurement is not None:
            builder.inputs["measured"] = measurement
        of, every = "u" if measurement is None else "measured", "period" if filter_period is None else "filter_period"
        builder.add_difference(of, "slope", StateSpec(zero, nominal, "", "v"), "slope_next", "time_constant", every)
        arguments += ["kd", "slope_next"]
    elif measurement is not None or filter_period is not None:
        title, why = f'sampled pid "{name}" has no kd', "measurement and filter_period are used only with the derivative gain kd"
        raise refusal("E143", title, "kd=...", about=name, why=why)
    if limits is not None:
        parameters |= limits_of("sampled pid", name, limits, unit)
        arguments += ["lowest", "highest"]
    kind = (ki is not None, 0 if kd is None else 1 if measurement is None else -1, limits is not None)
    builder.equations.append((results, formulas.sampled_pid(*kind), arguments))
    return builder.block()


@spelled_out
def sampled_rate_limiter(
    name: str,
    input: str,
    falling: Any,
    rising: Any,
    *,
    period: Any,
    offset: Any = 0.0,
    initial: Any = 0.0,
    dimension: int | None = None,
    **result: Unpack[Scaled],
) -> Element:
    """Return a sampled rate limiter: y[n] = y[n-1] + (u[n] - y[n-1] limited to `falling` period ... `rising` period), both rates
    per second.

    It follows steps and slow signals alike. The output is held between ticks; before the first tick, it is `initial`.

    Raises `ModelError` E142 unless the period is positive, E148 if falling is above rising.
    """
    need_positive("sampled rate limiter", name, period=period)
    per_time = per_second(result.get("unit", ""))
    rates = parameters_of({"falling": falling, "rising": rising}, dict.fromkeys(("falling", "rising"), per_time))
    need_order("sampled rate limiter", name, **rates)
    builder = BlockBuilder(name, inputs={"u": input}, parameters=rates, period=period, offset=offset)
    builder.states["y"], builder.updates["y"] = StateSpec(start_values(initial, dimension), **result), "y_next"
    builder.symbols["y_next"] = "y^{+}"
    builder.add("y_next", formulas.RATE_LIMITED, "u", "y", "period", *rates)
    return builder.block()


@spelled_out
def noise(
    name: str,
    deviation: Any,
    period: Any,
    *,
    seed: int,
    mean: Any = 0.0,
    distribution: str = "normal",
    offset: Any = 0.0,
    **result: Unpack[Scaled],
) -> Element:
    """Return noise: a random number of this mean and standard deviation at every tick, held until the next tick; `mean` before
    the first tick.

    Its two-sided power density is deviation^2 period at frequencies well below 1 / period. Numbers are "normal" or "uniform".
    They depend on the seed alone, so that runs are identical bit for bit on every machine. Blocks with different seeds are
    independent. The seed is a run-time parameter: `parameters={"wind.seed": 7}`.

    Raises `ModelError` E142 unless the period is positive, E151 for a negative deviation, E110 for another distribution, E182 for
    a seed that is not a whole number from 0 to 2147483397.

    Source: L'Ecuyer 1988 (generator); Box and Muller 1958 (normal deviates).
    """
    need_positive("noise", name, period=period)
    choice("noise", name, distribution=(distribution, tuple(formulas.NOISE)))
    number = numbers_of(seed)
    if number is None or number.shape or not 0 <= number < formulas.MODULI[1] - 1.0 or number % 1.0:
        title = f'noise "{name}" needs a whole number from 0 to {formulas.MODULI[1] - 2.0:.0f} as its seed'
        raise refusal("E182", title, "seed=1", about=name, why=f"given: {seed!r}")
    if (spread := numbers_of(deviation)) is not None and np.any(spread < 0.0):
        title, why = f'noise "{name}" has a negative deviation', f"given: {spread[()]}"
        raise refusal("E151", title, "deviation=1.0, a standard deviation", about=name, why=why)
    parameters = {"seed": seed, **of_result(result.get("unit", ""), mean=mean, deviation=deviation)}
    builder = BlockBuilder(name, parameters=parameters, period=period, offset=offset)
    builder.states |= {"y": StateSpec(start_values(parameters["mean"], None), **result), "generator": StateSpec(np.zeros(2))}
    builder.updates |= {"y": "y_next", "generator": "generator_next"}
    results = ["y_next", "generator_next"]
    builder.equations.append((results, formulas.NOISE[distribution], ["generator", *parameters]))
    return builder.block()


def need_multiple(name: str, period: Any, longer: Any) -> None:
    short, long = numbers_of(period), numbers_of(longer)
    if short is None or long is None or short.shape or long.shape or not short > 0.0:
        return
    count = float(long / short)
    if round(count) < 1 or abs(count - round(count)) > 1e-9 * count:
        title, near = f'"{name}": a period of {long:g} s is not a multiple of {short:g} s', max(round(count), 1) * float(short)
        raise refusal("E331", title, f"{near:g} s", about=name, why=f"their ratio is {count:.6g}")
