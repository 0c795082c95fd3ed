"""Laws that store energy in a state: C and I with one, IC with a configuration and a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bondgraph.model.laws.given import StateSpec
from bondgraph.model.laws.law import PORT, Storing, Variable
from bondgraph.model.mechanics import Mechanics
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import brief


@brief
@dataclass(frozen=True)
class Storage(Storing):
    """Energy storage: x' = rate(x, input), output = gradient(x), stored energy = energy(x)."""

    gives: Variable
    state: str
    spec: StateSpec
    output: Op
    energy: Op
    rate: Op | None = None
    """Operation (x, input, parameters, signals) -> x'; None where the state is the integral of the input."""
    inverse: Op | None = None
    """Operation (output, parameters, signals) -> x; without it derivative causality solves for the state by Newton iteration."""
    by_gradient: bool = False
    """True if the output is the gradient of the energy."""
    linear: bool = False
    """True if output and state are proportional by a number, a diagonal or a matrix, the only parameter."""

    def states(self) -> Mapping[str, StateSpec]:
        return {self.state: self.spec}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, self.state, "energy")

    @property
    def follows(self) -> tuple[str, StateSpec]:
        return self.state, self.spec

    @property
    def ease(self) -> tuple[int | bool, ...]:
        return 2 if self.rate is None else 0, self.inverse is not None, self.linear


@brief
@dataclass(frozen=True)
class InertialField(Storing):
    """Configuration q and motion (velocities v or momenta p) of one n-port: effort in, flow q' out, energy T + V; or, in derivative
    causality, flow in and effort out.

    Source: Breedveld 1984 (the IC element).
    """

    position: StateSpec
    motion: str
    """"v" (Lagrange's equations) or "p" (Hamilton's)."""
    start: StateSpec
    """Start value of the motion."""
    flow: Op
    """Operation (q, motion, parameters, signals) -> v = q'."""
    rate: Op
    """Operation (q, v, effort, parameters, signals) -> motion'."""
    energy: Op
    """Operation (q, v, parameters, signals) -> T + V."""
    momentum: Op
    """Operation (q, v, parameters, signals) -> p = M(q) v, for derivative causality."""
    own_rate: Op
    """Operation (q, v, parameters, signals) -> p' without an external effort, for derivative causality."""
    mechanics: Mechanics | None = None
    """Formulas that these operations were derived from."""
    gives: Variable = "flow"

    def states(self) -> Mapping[str, StateSpec]:
        return {"q": self.position, self.motion: self.start}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "q", "v", *(() if self.motion == "v" else (self.motion,)), "energy")

    @property
    def follows(self) -> tuple[str, StateSpec]:
        return self.motion, self.start

    @property
    def ease(self) -> tuple[int | bool, ...]:
        return 1, False, False
