"""Result of a run that keeps only some quantities, which refuses all other quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.run.program import Slot
from bondgraph.run.program.start_values import start_values
from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.result import Result
from bondgraph.run_arguments import StartValues
from screws.calls import explain_methods


def not_kept(what: str, names: Sequence[str], in_sink: bool, named: bool = False) -> RunError:
    details = ", ".join(f'"{name}"' for name in names[:8]) + (", ..." if len(names) > 8 else "")
    where = "in its sink" if in_sink else "kept"
    cures = ("its name in keep=[...], without sink=",) if named else ()
    cures = (*cures, "neither keep= nor sink=: the result then contains everything")
    return RunError(Problem("E347", f"{what} was not kept in this run", (f"{where}: {details}",), cures=cures))


class NotKept:
    """Placeholder for an array of samples that a run did not keep; its use raises E347."""

    def __init__(self, what: str, names: Sequence[str], in_sink: bool):
        self._of = what, tuple(names), in_sink

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise not_kept(*self._of)

    __getitem__ = __array__ = __len__ = __iter__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse()

    def __repr__(self) -> str:
        return "<not kept>"


@explain_methods
@dataclass(frozen=True, repr=False)
class KeptResult(Result):
    """Finished run that kept only some quantities: a `Result` with these quantities, parameters and events.

    Parameters
    ----------
    slots : slot of each quantity, by name.
    values : values (k, *shape) of each quantity; None if they went to a sink.
    measured : measures by name; a series is also among the values.
    totals : energy account of about 5000 samples at most, without the energies of single elements.
    last : states (n,) and modes (modes,) at the last sample; None if the run was cut off at a sample whose states were not kept.
    """

    slots: Mapping[str, Slot] = field(kw_only=True)
    values: Mapping[str, np.ndarray] | None = field(kw_only=True)
    totals: Ledger = field(kw_only=True)
    last: tuple[np.ndarray, np.ndarray] | None = field(kw_only=True)
    measured: Mapping[str, np.ndarray] = field(kw_only=True, default_factory=dict)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a kept quantity over time (k, *shape), a constant parameter (*shape) or a measure, by name; raise E347 for a
        quantity that was not kept."""
        if name in self.measured:
            return self.measured[name]
        if self.values is not None and name in self.values:
            return self.values[name]
        slot = self.program.layout[name]
        if slot.is_parameter:
            return slot.value_in(self.p)
        quantity, bracket, _ = name.partition("[")
        if bracket and self.values is not None and quantity in self.values:
            return self.values[quantity].reshape(len(self.t), -1)[:, slot.start - self.slots[quantity].start]
        raise not_kept(f'"{name}"', tuple(self.measured or self.slots), self.values is None, named=True)

    def __contains__(self, name: object) -> bool:
        return name in self.measured or name in self.names()

    def names(self) -> tuple[str, ...]:
        """Return the names of parameters and of kept quantities that did not go to a sink."""
        return (*(self.values or ()), *self.program.layout.names("p"))

    def _compute(self, names: Sequence[str]) -> None:
        """Do nothing, because all values have been computed."""

    def account(self) -> Ledger:
        return self.totals

    @property
    def final(self) -> StartValues:
        """States and modes at the end by name, as a start for another run; raises E347 if the run was cut off where states were
        not kept."""
        if self.last is None:
            raise not_kept("the state at the last sample", tuple(self.slots), self.values is None)
        return start_values(self.program, *self.last)

    def plot(self, *names: str | Sequence[str], axes: Any = None) -> np.ndarray:
        return super().plot(*(names or tuple(self.values or ())), axes=axes)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sides": self._sides, "program": self.program.described()}
