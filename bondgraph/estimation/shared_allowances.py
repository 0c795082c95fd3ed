"""Allowances for the explicit method, whose machine code asks by addresses: a program in; weights that answer in Python, out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bondgraph.estimation.allowances import Allowances
from bondgraph.run.answers import Answers
from bondgraph.run.bound import Bound
from bondgraph.run.error_control import weighing
from bondgraph.run.error_control.fields import ASKED
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.error_control.weights import Weights
from bondgraph.run.table import FieldTable


class SharedAllowances(Allowances, SharedWeights):
    """`Allowances` in a table that machine code shares; what it asks a few dozen times in a run is answered in Python."""

    def __init__(self, bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray):
        super().__init__(bound, own, met, driven)
        asked, library = FieldTable(ASKED), weighing.machine_code()
        n, modes = len(self.size), bound.program.modes

        def where() -> tuple[float, np.ndarray, np.ndarray]:
            return asked["t"], asked.copied("x", n), asked.copied("m", modes)

        self._asked = {
            "renew": _answers(lambda: self.renew(*where())),
            "question": _answers(lambda: self.question(*where(), asked["h"], asked["relative"])),
            "relax": _answers(lambda: self.relax(*where(), asked["h"], asked["relative"])),
        }
        for name, answers in self._asked.items():
            asked.point(name, answers.address)
            self.addresses[name] = library.address(f"asked_{name}")
        self._asked_table = asked
        self.table.point("asked", asked.address)

    def check(self) -> None:
        """Raise what kept an answer from being given."""
        super().check()
        for answers in self._asked.values():
            answers.check()


def _answers(answer: Callable[[], None]) -> Answers:
    """Of what gives nothing back."""

    def answered() -> int:
        answer()
        return 0

    return Answers(answered)


def allowances_of(bound: Bound, own: Weights, met: np.ndarray, driven: np.ndarray) -> Allowances:
    """The allowances of x and S as a program; arguments as of `Allowances`."""
    return SharedAllowances(bound, own, met, driven)
