"""Constitutive laws of elements: storages, resistors, sources, constraints, switches, junctions, blocks.

Arguments of every operation: the law's own variable first, then the element's parameters, then its signals, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bondgraph.model.mechanics import Mechanics
from bondgraph.model.ops import ForeignLibrary, Op
from bondgraph.model.quadrature import complement, work
from bondgraph.output.short_repr import short_repr
from screws.names import answer_old_names, explain_access
from screws.names.protection import read_only


@answer_old_names
@short_repr
@dataclass(frozen=True)
class Parameter:
    """Number or array that stays a run-time input of the compiled code."""

    value: Any
    unit: str = ""
    max_value: float | None = None
    """Upper limit, with zero as the lower limit; None if any number is allowed."""
    not_below: str = ""
    """Name of another parameter of the element, which is the lower limit."""
    expected: str = ""
    """Unit in which the formula reads the value; "" if the law and its domain, or `unit`, imply it."""

    def __post_init__(self) -> None:
        if isinstance(self.value, np.ndarray) and self.value.flags.writeable:  # the caller may change it
            object.__setattr__(self, "value", read_only(self.value.copy()))

    def _cure_of_assignment(self, name: str) -> str:
        return "simulate(..., parameters={name: value}), or a new Parameter"


@explain_access
@short_repr
@dataclass(frozen=True)
class ByMode:
    automaton: str
    values: Mapping[str, Any]


@short_repr
@dataclass(frozen=True)
class StateSpec:
    """State variable: its start value and, as a hint to error control and analyses, its nominal size."""

    initial: Any
    nominal: Any = None
    unit: str = ""
    symbol: str = ""
    claimed: bool = True
    """False if a start value that contradicts other states is replaced, as for a species; else it is refused unless zero."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the state, () for a scalar."""
        return np.shape(self.initial)


Variable = Literal["effort", "flow"]

OTHER: Mapping[Variable, Variable] = {"effort": "flow", "flow": "effort"}


class CausalityPreference(IntEnum):
    """Priority of an element's causality; lower numbers are assigned first."""

    MUST = 0
    """The only possible causality."""
    INTEGRAL = 1
    AS_GIVEN = 2
    """Causality in which the only given relation needs no inversion."""
    PREFERRED = 3
    """Choice between two causalities that both work."""


@short_repr
class CausalityRequest(NamedTuple):
    """Causality that an element requests at one of its ports."""

    effort_in: bool
    """True if the effort is the input, and the flow the output."""
    preference: CausalityPreference


class Law:
    """Law of an element: its states, its signals, and the causality that it requests."""

    def states(self) -> Mapping[str, StateSpec]:
        return {}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        """Return the local names of the law's signals other than parameters; `ports` are the ports of the element."""
        raise NotImplementedError

    def demand(self, port: int) -> CausalityRequest | None:
        return None


class Storing(Law):
    """Law that stores energy in a state; in derivative causality the state follows from other states."""

    gives: Variable
    """Output in integral causality: the effort of a C, the flow of an I and an IC; its input is the other variable."""

    @property
    def follows(self) -> tuple[str, StateSpec]:
        """Local name of the dependent state in derivative causality, and its specification."""
        raise NotImplementedError

    @property
    def dependence_order(self) -> tuple[int | bool, ...]:
        """Sort key of coupled storages: the first storages in this order keep their states."""
        raise NotImplementedError

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(self.gives == "flow", CausalityPreference.INTEGRAL)


def is_inertia(law: Law) -> bool:
    """Return True for the law of an I or IC, which gives its flow in integral causality."""
    return isinstance(law, Storing) and law.gives == "flow"


@short_repr
@dataclass(frozen=True, kw_only=True)
class Switched(Law):
    automaton: str | None = None
    """Name of the automaton in its graph; in a flat model, its path."""
    active: tuple[str, ...] = ()
    """States of the automaton in which the law acts."""
    word: ClassVar[str] = "active"
    """Name of the argument that sets the active states."""

    def stops(self, source: str, target: str) -> bool:
        """Return True if an impulse acts when the automaton changes from one state to another."""
        return False

    @property
    def mode(self) -> str:
        return f"{self.automaton}.mode"


PORT = ("effort", "flow", "power")
"""Signals of every one-port with power."""
TWO_PORTS = ("1.effort", "1.flow", "2.effort", "2.flow")


@short_repr
@dataclass(frozen=True)
class Action:
    """Products of a matrix N(parameters, signals) with a vector, computed without forming the matrix."""

    forward: Op
    """Operation (parameters, signals, f) -> N f."""
    transposed: Op
    """Operation (parameters, signals, e) -> N^T e."""


@short_repr
@dataclass(frozen=True)
class Ratio(Law):
    """Law of two ports with a ratio between their variables, matrix(parameters, signals)."""

    matrix: Op
    invertible: bool
    """True if the other causality, with 1/n, may be used (scalar ratios)."""
    letter: ClassVar[str]
    """Name of the ratio as a signal."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (self.letter, *TWO_PORTS)


@short_repr
@dataclass(frozen=True)
class Transformer(Ratio):
    """Transformer f2 = N f1, e1 = N^T e2; N has shape (), (n1,) or (n2, n1)."""

    action: Action | None = None
    """Formulas for the products with N that cost less than the matrix product."""
    letter: ClassVar[str] = "N"

    def demand(self, port: int) -> CausalityRequest | None:
        return None if self.invertible else CausalityRequest(port == 1, CausalityPreference.MUST)


@short_repr
@dataclass(frozen=True)
class Gyrator(Ratio):
    """Gyrator e1 = r f2, e2 = r^T f1; r has shape () or (n1, n2)."""

    letter: ClassVar[str] = "r"

    def demand(self, port: int) -> CausalityRequest | None:
        return None if self.invertible else CausalityRequest(False, CausalityPreference.MUST)


@short_repr
@dataclass(frozen=True)
class SkewGyrator(Law):
    """Gyrator on one port, e = J f with J = matrix(parameters, signals) skew-symmetric: it moves power between the components of
    one bond (the Euler junction structure of a rigid body)."""

    matrix: Op

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort", "flow", "J")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(False, CausalityPreference.MUST)


@short_repr
@dataclass(frozen=True)
class Junction(Switched):
    """Junction with a common effort (type 0) or common flow (type 1); a switched junction connects its bonds only in the active
    modes of its automaton."""

    type: int

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return ("effort" if self.type == 0 else "flow",)


@short_repr
@dataclass(frozen=True)
class IdealConstraint(Switched):
    """Ideal constraint of zero flow, whose effort is a Lagrange multiplier.

    The effort is such that h'' + a1 h' + a0 h + a2 h^3 = 0, where h' is the flow and h either its integral (a state) or
    `position`(parameters, signals): index reduction with Baumgarte stabilisation, and the cubic term of Bortoff 2020. A switched
    constraint acts only in the active modes of its automaton; its effort is `released` in the other modes.
    """

    position: Op | None
    start: StateSpec
    """Start value of h, if h is the integral of the flow."""
    released: Op | None = None
    """Operation (mode, flow, states `noted`, parameters, signals) -> effort while the constraint is off; None for zero."""
    noted: Mapping[str, StateSpec] = field(default_factory=dict)
    """States that only transitions set."""
    impulsive: bool = True
    """True if an impulse sets the flow to zero when the constraint becomes active; else the flow decays as h does."""
    stores_position: bool = True
    """True if h is a state when no position is given; else only the flow is stabilised, f' + a1 f = 0."""
    coordinates: int = 0
    """Number of coordinates. They are the first signals; `position` depends on them, and each has a port whose flow is its rate:
    h' = sum of J_k f_k, with J_k the derivatives of the position. Without coordinates there is one port, whose flow is h'."""
    conditions: int = 1
    """Number of components of h, if there are coordinates."""
    measured: bool = False
    """True if the rates of the signals of `position` include corrections, so that its derivative is not compared with h'."""

    def states(self) -> Mapping[str, StateSpec]:
        position = {"h": self.start} if self.position is None and self.stores_position else {}
        return {**position, **self.noted}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        position = ("h",) if self.position or self.stores_position else ()
        by_port = [f"{port}.{part}" for port in ports for part in ("J", "effort", "flow")] if self.coordinates else ()
        return (*PORT, "h'", "multiplier", *position, *(("h''", *self.noted) if self.noted else ()), *by_port)

    def stops(self, source: str, target: str) -> bool:
        return self.impulsive and target in self.active and source not in self.active

    @property
    def may_give_flow(self) -> bool:
        """True for dry friction along a line, which has a law for the other causality too."""
        return self.released is not None and self.position is None and not self.noted

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(False, CausalityPreference.MUST)


@short_repr
@dataclass(frozen=True)
class IdealSwitch(Switched):
    """Ideal switch: no effort while its automaton is in one of the active (`closed`) states, else no flow."""

    automaton: str
    word: ClassVar[str] = "closed"

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "inflow")

    def stops(self, source: str, target: str) -> bool:
        return (source in self.active) != (target in self.active)

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(True, CausalityPreference.PREFERRED)


@short_repr
@dataclass(frozen=True)
class Resistor(Law):
    """Dissipator: effort from flow, flow from effort, both if the relation can be inverted, or neither if it is implicit."""

    effort: Op | None
    flow: Op | None
    passive: bool = False
    """True if the user declares that the dissipator never supplies power."""
    linear: bool = False
    """True if effort and flow are proportional; the factor (a number, a diagonal or a matrix) is the only parameter."""
    relation: Op | None = None
    """Operation (effort, flow, parameters, signals) -> residual, which Newton iteration makes zero in each causality."""

    @property
    def has_one_formula(self) -> bool:
        """True if only one of the formulas is given; in the other causality, Newton iteration solves it."""
        return (self.effort is None) != (self.flow is None)

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> CausalityRequest:
        if self.has_one_formula:
            return CausalityRequest(self.effort is None, CausalityPreference.AS_GIVEN)
        return CausalityRequest(True, CausalityPreference.PREFERRED)


@short_repr
@dataclass(frozen=True)
class Reaction(Law):
    """Dissipator between two ports: one flow, into port 1 and out of port 2, that depends on both efforts."""

    flow: Op
    """Operation (effort at port 1, effort at port 2, parameters, signals) -> flow."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*TWO_PORTS, "flow", "power")

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(True, CausalityPreference.MUST)


@short_repr
@dataclass(frozen=True)
class Source(Law):
    """Effort or flow source: value(parameters, signals)."""

    gives: Variable
    value: Op | None = None
    """Value of the source; None for a structural zero, which supplies no power."""

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return PORT

    def demand(self, port: int) -> CausalityRequest:
        return CausalityRequest(self.gives == "flow", CausalityPreference.MUST)


@short_repr
@dataclass(frozen=True)
class Equation:
    """Equation outs = op(args) over the local names of a block."""

    outs: tuple[str, ...]
    op: Op
    args: tuple[str, ...]


@short_repr
@dataclass(frozen=True)
class SignalBlock(Law):
    """Signal block without power: sensors, kinematics, controllers."""

    inputs: tuple[str, ...] = ()
    """Local names of the element's signals, in their order."""
    kept: dict[str, StateSpec] = field(default_factory=dict)
    """State variables by local name."""
    equations: tuple[Equation, ...] = ()
    rates: dict[str, str] = field(default_factory=dict)
    """Local names of time derivatives by state; a state without a derivative is held between ticks and resets."""
    symbols: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    """Local names of values after a tick by state; all are evaluated before any is set. The states of a block with a `library`
    are its outputs, its sampled inputs, and the number of its steps, in this order."""
    library: ForeignLibrary | None = None
    period: str | None = None
    """Parameter for the time between ticks, s; None for a single tick."""
    offset: str | None = None
    """Parameter for the time of the first tick, s."""
    breaks: tuple[str, ...] = ()
    """Parameters that are times of jumps or kinks of a result, s, at which an integrator restarts."""
    delay: str | None = None
    """Parameter that delays the `updates`, s."""
    history: Callable[[float], float] | float | None = None
    """Signal before the start; None for its value at the start."""

    def states(self) -> Mapping[str, StateSpec]:
        return self.kept

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*self.kept, *(out for equation in self.equations for out in equation.outs))


@short_repr
@dataclass(frozen=True)
class Storage(Storing):
    """Energy storage: x' = rate(x, input), the law output(x) or its inverse x = inverse(output), and the stored energy(x)."""

    gives: Variable
    state: str
    spec: StateSpec
    output: Op | None
    energy: Op | None
    """Operation (coordinate, parameters, signals) -> stored energy; None for an energy by quadrature."""
    rate: Op | None = None
    """Operation (x, input, parameters, signals) -> x'; None if the state is the integral of the input."""
    inverse: Op | None = None
    """Operation (output, parameters, signals) -> x. Without it, derivative causality solves for the state by Newton iteration;
    without `output`, integral causality solves for the output."""
    by_gradient: bool = False
    linear: bool = False
    """True if output and state are proportional; the factor (a number, a diagonal or a matrix) is the only parameter."""

    def states(self) -> Mapping[str, StateSpec]:
        return {self.state: self.spec}

    @property
    def coordinate(self) -> str:
        """Local name of the variable that the law and its energy are functions of: the state, or the output."""
        return self.gives if self.output is None else self.state

    @cached_property
    def stored(self) -> Op:
        """Operation (coordinate, parameters, signals) -> stored energy, by quadrature if the law has none."""
        if self.energy is not None:
            return self.energy
        if self.output is not None:
            return work(self.output)
        assert self.inverse is not None
        return complement(self.inverse)

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, self.state, "energy")

    @property
    def follows(self) -> tuple[str, StateSpec]:
        return self.state, self.spec

    @property
    def dependence_order(self) -> tuple[int | bool, ...]:
        return 2 if self.rate is None else 0, self.inverse is not None, self.linear


@short_repr
@dataclass(frozen=True)
class InertialField(Storing):
    """Configuration q and motion (velocities v or momenta p) of one n-port, the IC element of Breedveld (1984): effort in,
    flow q' out, energy T + V; or, in derivative causality, flow in and effort out."""

    position: StateSpec
    motion: str
    """"v" (Lagrange's equations) or "p" (Hamilton's)."""
    start: StateSpec
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
    gives: Variable = "flow"

    def states(self) -> Mapping[str, StateSpec]:
        return {"q": self.position, self.motion: self.start}

    def signals(self, ports: Sequence[str]) -> tuple[str, ...]:
        return (*PORT, "q", "v", *(() if self.motion == "v" else (self.motion,)), "energy")

    @property
    def follows(self) -> tuple[str, StateSpec]:
        return self.motion, self.start

    @property
    def dependence_order(self) -> tuple[int | bool, ...]:
        return 1, False, False
