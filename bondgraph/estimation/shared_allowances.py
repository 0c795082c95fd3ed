"""Allowances for the explicit method, whose machine code asks by addresses: a program in; weights that call back, out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
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
        self._error: BaseException | None = None

        def held(x: Any, m: Any) -> tuple[np.ndarray, np.ndarray]:
            return np.ctypeslib.as_array(x, (n,)).copy(), np.ctypeslib.as_array(m, (modes,)).copy() if modes else np.zeros(0)

        def answering(answer: Callable[..., None]) -> Callable[..., None]:
            """No exception goes through machine code, an interrupt neither: it waits for `check`."""

            def asked(_: int, t: float, x: Any, m: Any, *step: Any) -> None:
                try:
                    if self._error is None:
                        answer(t, *held(x, m), *step)
                except BaseException as error:
                    self._error = error

            return asked

        self._asked = {
            "renew": _AT(answering(self.renew)),
            "question": _STEP(answering(self.question)),
            "relax": _STEP(answering(self.relax)),
        }
        places = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in self._asked.items()}
        self.addresses = {**self.addresses, **places}

    def check(self) -> None:
        """Raise what kept an answer from being given."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error


def allowances_of(bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray) -> Allowances:
    """The allowances of x and S as a program, in machine code where it is; arguments as of `Allowances`."""
    return (SharedAllowances if bound.program.is_machine_code else Allowances)(bound, own, met, driven)
