"""Laws that store energy in a state: C and I with one, IC with a configuration and a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bondgraph.model.laws.given import StateSpec
from bondgraph.model.laws.law import PORT, Storing, Variable
from bondgraph.model.mechanics import Mechanics
from bondgraph.model.ops import Op
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True)
class Storage(Storing):
    """Energy storage: x' = rate(x, input), output = gradient(x), stored energy = energy(x)."""

    gives: Variable
    state: str
    spec: StateSpec
    output: Op
    energy: Op
    rate: Op | None = None
    """None: the state is the plain integral of the input. Else (x, input, parameters, signals) -> x'."""
    inverse: Op | None = None
    """The state from the output, (output, parameters, signals) -> x; without it the state is sought in derivative causality."""
    by_gradient: bool = False
    """Whether the output was made of the energy, as its gradient."""
    linear: bool = False
    """Whether the output is the state times a number, a diagonal or a matrix, or divided by it: the only parameter."""

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


@short_repr
@dataclass(frozen=True)
class InertialField(Storing):
    """Configuration q and motion (velocities v or momenta p) of one n-port: effort in, flow q' out, energy T + V; or, where its
    flow is set by others, flow in and effort out.

    Source: Breedveld 1984 (the IC element).
    """

    position: StateSpec
    motion: str
    """"v" (Lagrange's equations) or "p" (Hamilton's)."""
    start: StateSpec
    """Of the motion."""
    flow: Op
    """(q, motion, parameters, signals) -> v = q'."""
    rate: Op
    """(q, v, effort, parameters, signals) -> motion'."""
    energy: Op
    """(q, v, parameters, signals) -> T + V."""
    momentum: Op
    """(q, v, parameters, signals) -> p = M(q) v; for derivative causality, as is:"""
    own_rate: Op
    """(q, v, parameters, signals) -> p' without an effort from outside."""
    mechanics: Mechanics | None = None
    """The formulas that these were made of."""
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
