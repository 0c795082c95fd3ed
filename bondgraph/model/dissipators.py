"""Law of an R-field: a dissipator with several ports and one formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bondgraph.model.laws import OTHER, CausalityPreference, CausalityRequest, Law, Variable
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class ResistorField(Law):
    """Dissipator with n ports of dimension 1: all flows by all efforts, or all efforts by all flows, each into the element.

    Where something else sets a variable that the formula gives, Newton iteration solves for the one that it takes at this port.
    """

    gives: Variable
    formula: Op
    """Operation ((n,) of the other variable, parameters, signals) -> (n,) of `gives`."""
    passive: bool = False
    """True if its author declares that it never gives power."""

    @property
    def takes(self) -> Variable:
        """Variable that the formula takes."""
        return OTHER[self.gives]

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*(f"{port}.{which}" for port in ports for which in ("effort", "flow")), "power")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(self.gives == "flow", CausalityPreference.AS_GIVEN)
