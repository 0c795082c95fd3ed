"""Signal blocks: equations between signals and states, without power."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bondgraph.errors import caller_place, refusal
from bondgraph.model.arguments import (
    in_unit,
    names_of,
    need_mapping,
    parameters_of,
    refused,
    start_of,
    unit_of_start,
    usual_signal,
)
from bondgraph.model.element import Element
from bondgraph.model.laws import Equation, SignalBlock, StateSpec
from bondgraph.model.ops import Op, as_op
from screws.errors import is_called_by_user


def Block(
    name: str,
    equations: Sequence[tuple[str | Sequence[str], Op | Callable[..., Any], Sequence[str]]],
    *,
    inputs: Mapping[str, str] | None = None,
    states: Mapping[str, StateSpec | Any] | None = None,
    rates: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    symbols: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    updates: Mapping[str, str] | None = None,
    period: Any = None,
    offset: Any = None,
    breaks: Sequence[str] = (),
) -> Element:
    """Return a signal block: `equations` are (outs, formula, args) over local names.

    `inputs` maps local names to signal paths, `states` maps state variables to a `StateSpec` or a plain start value, `rates`
    maps states to the local names of their time derivatives, `symbols` and `units` map local names to LaTeX and to units. Every
    local name except inputs is the signal `<name>.<local>`.

    `updates` maps states to the local names of their values after a tick; ticks are at `offset` + n `period`, s, n = 0, 1, ...
    (without a period, only at `offset`); both become parameters of these names. A state without a rate is held between ticks, and
    between the resets of automata. `breaks` names parameters that are times (s) of jumps or kinks of a result.

    Raises `ModelError` E118 for a parameter with the name of a given `period` or `offset`, E150 for arguments of a wrong type.
    """
    need_mapping("parameters", parameters, '"k": 2.0')
    values, inputs = dict(parameters or {}), inputs or {}
    offset = 0.0 if offset is None and period is not None else offset
    clock = {"period": period, "offset": offset}
    ticking = {key: in_unit(name, key, value, "s") for key, value in clock.items() if value is not None}
    if twice := sorted(ticking.keys() & values.keys()):
        title = f'block "{name}" defines {", ".join(twice)} twice'
        raise refusal("E118", title, "rename the parameter", about=name)
    states = states or {}
    if not isinstance(states, Mapping):
        raise refused("states", states, "a start value for each state", 'states={"phi": 0.0}')
    need_mapping("inputs", inputs, '"u": "spring.q"')
    for argument, results in (("rates", rates), ("updates", updates)):
        for key, value in (results or {}).items():
            if not isinstance(value, str):
                cure = f'{argument}={{"{key}": "result"}} with ("result", formula, arguments) among the equations'
                raise refused(f'{argument}["{key}"]', value, "the name of a result of the equations", cure)
    if not is_called_by_user():  # our own blocks name letters of parts that only some of them have
        outputs = [name for outs, _, _ in equations for name in ((outs,) if isinstance(outs, str) else outs)]
        local = {*inputs, *states, *values, *ticking, *outputs}
        symbols, units = ({key: text for key, text in (table or {}).items() if key in local} for table in (symbols, units))
    law = SignalBlock(
        tuple(inputs),
        {key: _state(f"{name}.{key}", spec, (units or {}).get(key, "")) for key, spec in states.items()},
        tuple(Equation(names_of(outs, "outs"), as_op(op), names_of(args, "args")) for outs, op, args in equations),
        rates=dict(rates or {}),
        symbols=dict(symbols or {}),
        units=dict(units or {}),
        updates=dict(updates or {}),
        period="period" if "period" in ticking else None,
        offset="offset" if "offset" in ticking else None,
        breaks=names_of(breaks, "breaks"),
    )
    numbers = parameters_of({**values, **ticking}, dict.fromkeys(ticking, "s"))
    paths = tuple(_path(name, value) for value in inputs.values())
    return Element("block", name, law, (), numbers, paths, law.symbols, None, None, caller_place())


def _state(path: str, spec: Any, unit: str) -> StateSpec:
    if isinstance(spec, StateSpec):
        return spec if spec.unit or not unit else replace(spec, unit=unit)
    unit = unit or unit_of_start(spec)
    return StateSpec(start_of(path, in_unit(path, "its start value", spec, unit), None), unit=unit)


def _path(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    title, cure = f'an input of "{name}" cannot be {value!r}', 'a path alone, such as "time" or "spring.q"'
    if isinstance(value, Element):
        title, cure = f'an input of "{name}" cannot be the element "{value.name}"', f'"{value.name}.{usual_signal(value)}"'
    raise refusal("E150", title, cure, about=name, why="an input is the path of one signal")
