"""Parameters that depend on the mode of an automaton: a switching damper, a gear, a voltage that is on or off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.model.arguments import in_unit
from bondgraph.model.element import Element
from bondgraph.model.laws import ByMode, Parameter
from bondgraph.model.ops import Op
from screws.scalars import array, equal, where


def by_mode(automaton: str, values: Mapping[str, Any]) -> ByMode | Parameter:
    """Return a parameter with a value for each state of an automaton, instead of a number or array.

    Parameters
    ----------
    automaton : its name, as in `X0(automaton=...)`.
    values : number, array or `Parameter` for each state of the automaton, all of the same shape and dimension.

    The parameter `damper.resistance` is then a signal, and `damper.resistance in free` a parameter for each state. If a change of
    mode changes the stored energy of a C or I, the difference is counted as lost.

    Raises `ModelError` E175 if only some values have a unit (zero needs none), or units differ in dimension; the graph raises
    E139 unless `values` names exactly the states of the automaton.

    >>> from bondgraph import R, by_mode
    >>> damper = R("damper", by_mode("bumper", {"free": 0.0, "contact": 5.0}))
    """
    units = [value.unit for value in values.values() if isinstance(value, Parameter)]
    if not units:
        return ByMode(automaton, dict(values))
    numbers = {}
    for state, value in values.items():
        if not isinstance(value, Parameter) and np.any(value):
            title = f'a parameter that depends on the mode of "{automaton}" has a value without a unit in {state}'
            cures = (f"Parameter({value}, {units[0]!r})",)
            raise refusal("E175", title, *cures, about=automaton, why=f"units in other modes: {', '.join(dict.fromkeys(units))}")
        numbers[state] = in_unit(automaton, f"the value in {state}", value, units[0])
    return Parameter(ByMode(automaton, numbers), units[0])


def parameter_values(name: str, parameter: Parameter) -> dict[str, Any]:
    value = parameter.value
    if isinstance(value, ByMode):
        return {f"{name} in {state}": each for state, each in value.values.items()}
    return {name: value}


def value_by_mode(indices: tuple[int, ...]) -> Op:
    def chosen(mode: Any, *values: Any) -> Any:
        result = values[-1]
        for index, value in zip(indices[:-1], values[:-1], strict=True):
            condition = equal(mode, float(index))
            flat = [where(condition, v, f) for v, f in zip(np.ravel(value), np.ravel(result), strict=True)]
            result = array(flat).reshape(np.shape(value)) if np.shape(value) else flat[0]
        return result

    rows = r" \\ ".join(rf"#{k} & #1 = {index}" for k, index in enumerate(indices, start=2))
    return Op("value by mode", chosen, rf"\begin{{cases}} {rows} \end{{cases}}")


def modal_parameters(element: Element) -> dict[str, ByMode]:
    if not element.parameters:  # true of all junctions
        return {}
    return {name: p.value for name, p in element.parameters.items() if isinstance(p.value, ByMode)}
