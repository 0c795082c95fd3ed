"""Chemical elements: Ce, a species that stores amount, and Re, a reaction between the affinities of its two sides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bondgraph.errors import caller_place, refusal
from bondgraph.model.arguments import parameters_of, start_of, unit_of_start
from bondgraph.model.domains import CHEMICAL
from bondgraph.model.element import Element, Port, one_port
from bondgraph.model.laws import Parameter, Reaction, StateSpec, Storage
from bondgraph.model.ops import Op
from bondgraph.quantities import real
from screws.scalars import exp, log, maximum

TINY = 1e-300
"""Smallest argument of a logarithm: an absent species has a large finite potential, whose exponential is zero to within rounding
error."""


def Ce(
    name: str,
    constant: Any = None,
    *,
    RT: Any = None,
    initial: Any = 0.0,
    nominal: Any = None,
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Return a chemical species at constant temperature: its state q is the amount, its effort the potential mu = RT ln(K q).

    Parameters
    ----------
    constant : K, 1/mol; None means 1 (unit constants).
    RT : gas constant times temperature, J/mol; None means 1. RT must be the same for all connected species and reactions: a
        number becomes part of the equations, where it cancels; a `Parameter` stays a run-time parameter of this element alone.
    initial : amount at the start, mol; zero is allowed.

    The stored energy is the free energy G = RT q (ln(K q) - 1).

    Raises `ModelError` E137 for a constant that is not positive.

    Source: Oster, Perelson and Katchalsky 1973; Gawthrop and Crampin 2014 (Ce).
    """
    values, fixed = _positive("Ce", name, constant=constant, RT=RT)
    law = Storage(
        "effort",
        "q",
        StateSpec(start_of(name, initial, None), nominal, unit_of_start(initial), claimed=False),
        Op("potential", _bound_to_parameters(values, fixed, _potential), _potential_latex(values, fixed)),
        Op("energy", _bound_to_parameters(values, fixed, _energy), r"G(#1)"),
        inverse=Op("amount", _bound_to_parameters(values, fixed, _amount), r"q(#1)"),
    )
    return one_port("Ce", name, law, values, dimension=1, domain=CHEMICAL, symbols=symbols)


def Re(name: str, rate: Any = None, *, RT: Any = None, symbols: Mapping[str, str] | None = None) -> Element:
    """Return a chemical reaction from the species at port 1 to the species at port 2: v = kappa (exp(A_f / RT) - exp(A_r / RT)).

    A_f and A_r are the efforts of ports 1 and 2; the same v flows in at port 1 and out at port 2 (mass action if the species are
    Ce). Several species of one side meet at a 1-junction; a TF of ratio n between reaction and species gives the species the
    stoichiometric coefficient n.

    Parameters
    ----------
    rate : kappa, mol/s; None means 1.
    RT : gas constant times temperature, J/mol, as for `Ce`.

    Raises `ModelError` E137 for a constant that is not positive.

    Source: Oster, Perelson and Katchalsky 1973; Gawthrop and Crampin 2014 (Re).
    """
    values, fixed = _positive("Re", name, rate=rate, RT=RT)
    law = Reaction(Op("mass action", _bound_to_parameters(values, fixed, _mass_action), r"v(#1, #2)"))
    ports = (Port("1", 1, CHEMICAL), Port("2", 1, CHEMICAL))
    return Element("Re", name, law, ports, values, (), dict(symbols or {}), CHEMICAL, None, caller_place())


def _present(x: Any) -> Any:
    """Return x, not less than `TINY`; symbols denote positive amounts."""
    sympy = sys.modules.get("sympy")
    return x if sympy is not None and isinstance(x, sympy.Basic) else maximum(x, TINY)


def _potential(q: Any, constant: Any, RT: Any) -> Any:
    return RT * log(_present(constant * q))


def _amount(potential: Any, constant: Any, RT: Any) -> Any:
    return exp(potential / RT) / constant


def _energy(q: Any, constant: Any, RT: Any) -> Any:
    """Return the integral of the potential, even where `TINY` limits it."""
    present = _present(constant * q)
    return RT * (q * log(present) - present / constant)


def _mass_action(forward: Any, reverse: Any, rate: Any, RT: Any) -> Any:
    return rate * (exp(forward / RT) - exp(reverse / RT))


def _bound_to_parameters(
    values: Mapping[str, Any], fixed: Mapping[str, float], formula: Callable[..., Any]
) -> Callable[..., Any]:
    names, constants = tuple(values), tuple(fixed.items())  # tuples, which `formula_key` can compare

    def with_constants(*arguments: Any) -> Any:
        count = len(arguments) - len(names)
        return formula(*arguments[:count], **dict(constants), **dict(zip(names, arguments[count:], strict=True)))

    return with_constants


def _potential_latex(values: Mapping[str, Any], fixed: Mapping[str, float]) -> str:
    numbers = {name: f"#{k}" for k, name in enumerate(values, start=2)}
    inner = f"{numbers['constant']}\\,#1" if "constant" in numbers else "#1"
    factor = numbers.get("RT") or ("" if fixed["RT"] == 1.0 else f"{fixed['RT']:g}")
    return rf"{factor}\,\ln\left({inner}\right)".removeprefix(r"\,")


_UNITS = {"constant": "1/mol", "RT": "J/mol", "rate": "mol/s"}


def _positive(kind: str, name: str, **arguments: Any) -> tuple[dict[str, Parameter], dict[str, float]]:
    values = dict(parameters_of({key: value for key, value in arguments.items() if value is not None}, _UNITS))
    numbers = {key: real(parameter.value) for key, parameter in values.items()}
    bad = [key for key, number in numbers.items() if number is not None and not np.all(number > 0)]
    if bad:
        shown = ", ".join(f"{key} = {values[key].value}" for key in bad)
        raise refusal("E137", f'{kind} "{name}" has {shown}', "positive constants", about=name)
    fixed = dict.fromkeys((key for key, value in arguments.items() if value is None), 1.0)
    RT = numbers.get("RT")
    if RT is not None and RT.ndim == 0 and not isinstance(arguments["RT"], Parameter):
        fixed["RT"] = float(RT)
        del values["RT"]
    return values, fixed
