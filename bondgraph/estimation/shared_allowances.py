"""Allowances for the explicit method, whose machine code asks by addresses: a program in; weights that call back, out."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from bondgraph.estimation.allowances import Allowances
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.error_control.weights import Weights

_POINTER, _REAL, _WHOLE = ctypes.POINTER(ctypes.c_double), ctypes.c_double, ctypes.c_int64
_AT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _REAL, _POINTER, _POINTER)
_STEP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _REAL, _POINTER, _POINTER, _REAL, _REAL, _WHOLE)


class SharedAllowances(Allowances, SharedWeights):
    """`Allowances` in a table that machine code shares; what it asks a few dozen times in a run is answered in Python."""

    def __init__(self, bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray):
        super().__init__(bound, own, met, driven)
        n, modes = len(self.size), bound.program.modes

        def held(x: Any, m: Any) -> tuple[np.ndarray, np.ndarray]:
            return np.ctypeslib.as_array(x, (n,)).copy(), np.ctypeslib.as_array(m, (modes,)).copy() if modes else np.zeros(0)

        def renew(_: int, t: float, x: Any, m: Any) -> None:
            self.renew(t, *held(x, m))

        def question(_: int, t: float, x: Any, m: Any, h: float, relative: float, implicit: int) -> None:
            self.question(t, *held(x, m), h, relative, bool(implicit))

        def relax(_: int, t: float, x: Any, m: Any, h: float, relative: float, implicit: int) -> None:
            self.relax(t, *held(x, m), h, relative, bool(implicit))

        self._asked = {"renew": _AT(renew), "question": _STEP(question), "relax": _STEP(relax)}
        places = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in self._asked.items()}
        self.addresses = {**self.addresses, **places}


def allowances_of(bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray) -> Allowances:
    """The allowances of x and S as a program, in machine code where it is; arguments as of `Allowances`."""
    return (SharedAllowances if bound.program.is_machine_code else Allowances)(bound, own, met, driven)
