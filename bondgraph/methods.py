"""Table of integration methods: one record for each, used by settings, help, pages, `warm` and tests."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from screws.names import similar_names


@dataclass(frozen=True, eq=False)
class MethodEntry:
    """One method of integration.

    Parameters
    ----------
    name : for `simulate(method=...)`.
    order, dense : orders of its solution and of its dense output, 0 if rtol determines them.
    meaning, use : what the method is and when to use it, one line each.
    load : function that imports its code, such as `bondgraph.run.steppers.explicit.explicit_method` returns.
    safety : tolerance per step divided by the user's rtol; small enough that the energy residual of most runs is below rtol.
    least : smallest tolerance per step that the method can meet.
    stiff : whether it is for stiff models.
    needs_jacobian : whether it needs the derivatives of the rates.
    exponent : power of the user's rtol in the tolerance per step, less than 1 if the error estimate has a lower order than the
        solution.
    needs_series : whether it needs the Taylor coefficients of the solution.
    """

    name: str
    order: int
    dense: int
    meaning: str
    use: str
    load: Callable[[], Any]
    safety: float = 1e-2
    least: float = 1e-15
    stiff: bool = False
    needs_jacobian: bool = False
    exponent: float = 1.0
    needs_series: bool = False

    @property
    def orders(self) -> tuple[str, str]:
        return (str(self.order), str(self.dense)) if self.order else ("chosen by rtol", "chosen by rtol")


def _imported(module: str) -> Any:
    return importlib.import_module(module).STEPPER


_STEPPERS = "bondgraph.run.steppers"

# Residual / rtol, measured at rtol 1e-9 with these factors:
# dop853: 0.3 for an undamped oscillator over 184 turns, 0.01 with 14 % damping, 0.03 for free rotation, 0.05 for impacts. A
# factor ten times smaller costs a third more evaluations.
# rodas5p: 0.04 for the oscillator (0.6 at rtol 1e-6, 2.5 at 1e-4), 0.005 with damping, 0.2 for free rotation, 0.3 for a stiff
# wall. A factor ten times larger exceeds rtol in most cases, one ten times smaller costs 50 % more steps.
# dopri5: 5, 0.03, 0.01 and 0.3 in the cases of dop853; it is meant for short segments.
_ENTRIES = (
    MethodEntry(
        name="dop853",
        order=8,
        dense=7,
        meaning="explicit Runge-Kutta (Hairer, Norsett and Wanner)",
        use="mechanisms, contacts, little damping",
        load=functools.partial(_imported, f"{_STEPPERS}.dop853"),
    ),
    MethodEntry(
        name="dopri5",
        order=5,
        dense=4,
        meaning="explicit Runge-Kutta (Dormand and Prince)",
        use="frequent ticks and events, with one step between them",
        load=functools.partial(_imported, f"{_STEPPERS}.dopri5"),
    ),
    MethodEntry(
        name="rodas5p",
        order=5,
        dense=4,
        meaning="Rosenbrock, implicit, exact Jacobian (Steinebach 2023)",
        use="stiff models: fast and slow parts together, rods and chains",
        safety=1e-1,
        stiff=True,
        needs_jacobian=True,
        load=functools.partial(_imported, f"{_STEPPERS}.rosenbrock.rodas5p"),
    ),
    MethodEntry(
        name="radau5",
        order=5,
        dense=4,
        meaning="Radau IIA, implicit Runge-Kutta, exact Jacobian (Hairer and Wanner)",
        use="fast undamped modes with amplitudes far below the tolerance: elastic beams, transmission lines",
        safety=1e-1,
        stiff=True,
        needs_jacobian=True,
        load=functools.partial(_imported, f"{_STEPPERS}.radau.radau5"),
        exponent=0.9,
    ),
    MethodEntry(
        name="taylor",
        order=0,
        dense=0,
        meaning="Taylor series by recurrences (Jorba and Zou 2005)",
        use="smooth models of up to 100 operations, best below 60, tight tolerances, long runs",
        load=functools.partial(_imported, f"{_STEPPERS}.taylor.series"),
        needs_series=True,
    ),
)

METHODS = {entry.name: entry for entry in _ENTRIES}

AUTO = "auto"
START, STIFF = METHODS["dop853"], METHODS["rodas5p"]
"""Methods of "auto": the first method, and the method for a model that turns out to be stiff."""

RETIRED = {"bdf": "rodas5p", "radau": "rodas5p", "lsoda": AUTO, "adams": "dop853"}
"""Methods of earlier versions, each with its replacement."""

_FAMILIES = {r"bdf|cvode|implicit|backward|\d(s|i|t|tb)$": STIFF.name, r"rk|runge|euler|\d\d$": "dopri5"}
"""Words in other names of methods, each with a method of the same family; the first that matches counts."""


def nearest(name: str) -> str:
    """Return the method of the same family, such as "dopri5" for "RK45", else one with a similar name, else "auto"."""
    key = name.strip().lower()
    families = (method for words, method in _FAMILIES.items() if re.search(words, key))
    return RETIRED.get(key) or next(families, next(iter(similar_names(key, METHODS, most=1)), AUTO))


def names() -> tuple[str, ...]:
    return (AUTO, *METHODS)


def help_text() -> str:
    listed = [f'"{entry.name}" ({entry.meaning.split(" (")[0]}, order {entry.orders[0]})' for entry in METHODS.values()]
    return f'"auto" ({START.name}; {STIFF.name} once the model turns out to be stiff), {", ".join(listed)}, or a `MethodEntry`.'


REMOVED_SETTINGS = ("solver", "iteration")


def migrated_settings(settings: Mapping[str, object]) -> dict[str, object]:
    current = {name: value for name, value in settings.items() if name not in REMOVED_SETTINGS}
    if isinstance(method := current.get("method"), str):
        current["method"] = RETIRED.get(method.strip().lower(), method)
    return current
