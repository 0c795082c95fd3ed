"""Constitutive laws: the records that say what an element does, without its place in a graph.

Arguments of every operation: the law's own variable first, then the element's parameters in their order,
then its signals in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bondgraph.model.mechanics import Mechanics
from bondgraph.model.ops import Op
from bondgraph.output.brief import brief

Variable = Literal["effort", "flow"]
"""The two variables of a bond."""

OTHER: Mapping[Variable, Variable] = {"effort": "flow", "flow": "effort"}
"""Of the two variables the other one."""


@brief
@dataclass(frozen=True)
class Parameter:
    """A number or array that stays a run-time input of the compiled code."""

    value: Any
    unit: str = ""
    most: float | None = None
    """The highest that it may be, and zero the lowest; None: any number."""
    not_below: str = ""
    """Another parameter of the element: the lowest that it may be."""


@brief
@dataclass(frozen=True)
class ByMode:
    """A parameter with a value for each state of an automaton."""

    automaton: str
    values: Mapping[str, Any]


@brief
@dataclass(frozen=True)
class StateSpec:
    """A state variable: its start value and, as a hint to error control and analyses, its usual size."""

    initial: Any
    nominal: Any = None
    unit: str = ""
    symbol: str = ""
    claimed: bool = True
    """Whether a start other than zero must hold where the state follows from others; a species has always some amount."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the state, () for a scalar."""
        return np.shape(self.initial)


class Wish(IntEnum):
    """How strongly an element asks for a causality; what is lower is heard earlier."""

    MUST = 0
    """It has only this one."""
    INTEGRAL = 1
    """A storage that keeps its own state."""
    AS_GIVEN = 2
    """The only relation that it has can be used as it stands."""
    RATHER = 3


@brief
class Demand(NamedTuple):
    """What an element asks for at one of its ports."""

    effort_in: bool
    """Whether the effort comes from outside, and the element gives the flow."""
    wish: Wish


class Law:
    """What an element does: its states, the signals that it offers, the causality that it asks for."""

    def states(self) -> Mapping[str, StateSpec]:
        """State variables by local name."""
        return {}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        """Local names of the signals that it offers besides its parameters; `ports` are those of its element."""
        raise NotImplementedError

    def demand(self, port: int) -> Demand | None:
        """The causality that it asks for at a port, by its place; None: whatever the others leave."""
        return None


class Storing(Law):
    """A law that stores energy in a state, and follows others where they decide its output."""

    gives: Variable
    """Its output in integral causality: the effort of a C, the flow of an I and an IC; its input is the other variable."""

    @property
    def follows(self) -> tuple[str, StateSpec]:
        """Local name of the state that it does not keep in derivative causality, since it follows from others."""
        raise NotImplementedError

    @property
    def ease(self) -> tuple[int | bool, ...]:
        """How easily it follows: of those that are coupled, the first in this order keep their states."""
        raise NotImplementedError

    def demand(self, port: int) -> Demand:
        return Demand(self.gives == "flow", Wish.INTEGRAL)


@brief
@dataclass(frozen=True, kw_only=True)
class Switched(Law):
    """A law that an automaton may switch."""

    automaton: str | None = None
    """As its graph calls it; in a flat model its path."""
    active: tuple[str, ...] = ()
    """States of the automaton in which it acts."""
    word: ClassVar[str] = "active"
    """What the argument is called that names them."""

    def stops(self, source: str, target: str) -> bool:
        """Whether an impulse brings something to rest as the automaton goes from one state to another."""
        return False

    @property
    def mode(self) -> str:
        """Signal of the automaton's mode."""
        return f"{self.automaton}.mode"


PORT = ("effort", "flow", "power")
"""Signals of every element of one port that takes or gives power."""
TWO_PORTS = ("1.effort", "1.flow", "2.effort", "2.flow")


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


@brief
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


@brief
@dataclass(frozen=True)
class Resistor(Law):
    """Dissipator: effort from flow, flow from effort, or both where the relation can be inverted."""

    effort: Op | None
    flow: Op | None
    passive: bool = False
    """Whether its author declares that it never gives power."""
    linear: bool = False
    """Whether effort and flow are each other times a number, a diagonal or a matrix, or divided by it: the only parameter."""

    @property
    def one_way(self) -> bool:
        """Whether only one of the relations is given; against it, a value is sought for which it gives the other."""
        return self.effort is None or self.flow is None

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> Demand:
        return Demand(self.effort is None, Wish.AS_GIVEN) if self.one_way else Demand(True, Wish.RATHER)


@brief
@dataclass(frozen=True)
class Reaction(Law):
    """Dissipator between two ports: one flow, in at port 1 and out at port 2, from the efforts of both."""

    flow: Op
    """(effort at port 1, effort at port 2, parameters, signals) -> flow."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*TWO_PORTS, "flow", "power")

    def demand(self, port: int) -> Demand:
        return Demand(True, Wish.MUST)


@brief
@dataclass(frozen=True)
class IdealConstraint(Switched):
    """No flow, by whatever effort that takes: the effort is a Lagrange multiplier.

    It is such that h'' + a1 h' + a0 h + a2 h^3 = 0, where h' is the flow and h either its integral (a state) or
    `position`(parameters, signals): index reduction with Baumgarte's stabilisation, and the cubic term of Bortoff 2020.
    A switched one holds only in the active modes of its automaton, and gives the effort `released` in the others.
    """

    position: Op | None
    start: StateSpec
    """Of h, where it is the integral of the flow."""
    released: Op | None = None
    """Effort while it does not hold, (mode, flow, noted, parameters, signals); None: zero."""
    noted: Mapping[str, StateSpec] = field(default_factory=dict)
    """States that transitions alone set."""
    impulsive: bool = True
    """Whether the flow jumps to zero where it begins to hold, by an impulse; else it decays as h does."""
    stores_position: bool = True
    """Whether h is a state where no position is given; else the flow alone is stabilised, f' + a1 f = 0."""
    coordinates: int = 0
    """Count of coordinates, the first signals, of which `position` is a function and whose rates are the flows of as many
    ports: then h' = sum of J_k f_k with J_k the derivatives of the position. 0: one port, whose flow is h' itself."""
    conditions: int = 1
    """Of one with coordinates: count of the scalars of h."""
    measured: bool = False
    """Whether the rates of what `position` reads hold corrections beside the motion: then h' is its rate only where there is
    nothing to correct, and the two are not compared."""

    def states(self) -> Mapping[str, StateSpec]:
        position = {"h": self.start} if self.position is None and self.stores_position else {}
        return {**position, **self.noted}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        position = ("h",) if self.position or self.stores_position else ()
        own = [f"{port}.{part}" for port in ports for part in ("J", "effort", "flow")] if self.coordinates else ()
        return (*PORT, "h'", "multiplier", *position, *(("h''", *self.noted) if self.noted else ()), *own)

    def stops(self, source: str, target: str) -> bool:
        return self.impulsive and target in self.active and source not in self.active

    def demand(self, port: int) -> Demand:
        return Demand(False, Wish.MUST)


@brief
@dataclass(frozen=True)
class IdealSwitch(Switched):
    """No effort while its automaton is in one of the active states (`closed` ones), no flow in all others."""

    automaton: str
    word: ClassVar[str] = "closed"

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "inflow")

    def stops(self, source: str, target: str) -> bool:
        return (source in self.active) != (target in self.active)

    def demand(self, port: int) -> Demand:
        return Demand(True, Wish.RATHER)


@brief
@dataclass(frozen=True)
class Source(Law):
    """Effort or flow source: value(parameters, signals)."""

    gives: Variable
    value: Op | None = None
    """None: zero by structure, which gives no power."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> Demand:
        return Demand(self.gives == "flow", Wish.MUST)


@brief
@dataclass(frozen=True)
class Action:
    """What a matrix N(parameters, signals) does to a vector, without the matrix."""

    forward: Op
    """(parameters, signals, f) -> N f."""
    transposed: Op
    """(parameters, signals, e) -> N^T e."""


@brief
@dataclass(frozen=True)
class Ratio(Law):
    """A law of two ports with a ratio between their variables, matrix(parameters, signals)."""

    matrix: Op
    invertible: bool
    """Whether the other causality, with 1/n, may be used (scalar ratios)."""
    letter: ClassVar[str]
    """What the ratio is called as a signal."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (self.letter, *TWO_PORTS)


@brief
@dataclass(frozen=True)
class Transformer(Ratio):
    """f2 = N f1, e1 = N^T e2; N has shape (), (n1,) or (n2, n1)."""

    action: Action | None = None
    """The products with N, where there are cheaper formulas for them than rows times columns."""
    letter: ClassVar[str] = "N"

    def demand(self, port: int) -> Demand | None:
        return None if self.invertible else Demand(port == 1, Wish.MUST)


@brief
@dataclass(frozen=True)
class Gyrator(Ratio):
    """e1 = r f2, e2 = r^T f1; r has shape () or (n1, n2)."""

    letter: ClassVar[str] = "r"

    def demand(self, port: int) -> Demand | None:
        return None if self.invertible else Demand(False, Wish.MUST)


@brief
@dataclass(frozen=True)
class SkewGyrator(Law):
    """A gyrator on one port, e = J f with J = matrix(parameters, signals) skew-symmetric: it moves power between the
    components of one bond (the Euler junction structure of a rigid body)."""

    matrix: Op

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort", "flow", "J")

    def demand(self, port: int) -> Demand:
        return Demand(False, Wish.MUST)


@brief
@dataclass(frozen=True)
class Junction(Switched):
    """Common effort (type 0) or common flow (type 1); a switched one joins only in the active modes of its automaton."""

    type: int

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort" if self.type == 0 else "flow",)


@brief
@dataclass(frozen=True)
class Equation:
    """outs = op(args) over the local names of a block."""

    outs: tuple[str, ...]
    op: Op
    args: tuple[str, ...]


@brief
@dataclass(frozen=True)
class SignalBlock(Law):
    """Signals in, signals and states out, no power: sensors, kinematics, controllers."""

    inputs: tuple[str, ...] = ()
    """Local names of the element's signals, in their order."""
    kept: dict[str, StateSpec] = field(default_factory=dict)
    """Its states."""
    equations: tuple[Equation, ...] = ()
    rates: dict[str, str] = field(default_factory=dict)
    """State -> local name of its time derivative; a state without one is held between ticks and resets."""
    symbols: dict[str, str] = field(default_factory=dict)
    """Local name -> LaTeX."""
    units: dict[str, str] = field(default_factory=dict)
    """Local name -> unit."""
    updates: dict[str, str] = field(default_factory=dict)
    """State -> local name of its value after a tick; all are evaluated before any is set."""
    period: str | None = None
    """Parameter that is the time between ticks, s: they are at offset + n period, n = 0, 1, ..."""
    offset: str | None = None
    """Parameter that is the time of the first tick, s."""
    breaks: tuple[str, ...] = ()
    """Parameters that are times at which a result jumps or bends, s: an integrator stops there and begins anew."""

    def states(self) -> Mapping[str, StateSpec]:
        return self.kept

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*self.kept, *(out for equation in self.equations for out in equation.outs))
