"""What a compiled model offers to a solver: kernels, transitions between modes, and names for every number.

A kernel takes the blocks t (1,), x (n,), p (parameters,), m (modes,) and fills one array. The records are frozen
and hold no state of a run, so that threads can share one program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bondgraph.assembly.system import is_internal
from bondgraph.emit.once import OnceProperty
from bondgraph.errors import Problem, RunError
from bondgraph.model.model import ContactPoint
from bondgraph.model.units import spread
from bondgraph.output.brief import brief
from bondgraph.output.lookup import UnknownName, unknown
from bondgraph.run.bonds import BondVariables
from bondgraph.run.entries.structures import Structures
from bondgraph.run.linear.layout import MatrixLayout, layout_of

if TYPE_CHECKING:
    from bondgraph.assembly.system import Closing
    from bondgraph.emit.kernel import Kernel, LaneKernels
    from bondgraph.model.model import Model

_COMPONENT = re.compile(r"(.+)\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]")
ROLES = ("dissipated", "supplied", "injected")


@dataclass(frozen=True)
class Slot:
    """Where a named quantity lies: a block ("x", "out", "p" or "m"), its first index, its shape and its unit."""

    block: str
    start: int
    shape: tuple[int, ...] = ()
    unit: str = ""

    @property
    def size(self) -> int:
        """Count of numbers."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """Index after the last number."""
        return self.start + self.size


@brief
@dataclass(frozen=True)
class Layout:
    """Names of all states, outputs, parameters and modes, in the user's words."""

    slots: Mapping[str, Slot] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Slot:
        """The slot of a name or of a component, "body.pose[3]"; an unknown name is a KeyError that lists similar ones."""
        if name in self.slots:
            return self.slots[name]
        if (found := _COMPONENT.fullmatch(name)) and found[1] in self.slots:
            return self._component(found[1], tuple(map(int, found[2].split(","))))
        raise unknown("quantity", name, self.names())

    def _component(self, name: str, place: tuple[int, ...]) -> Slot:
        whole = self.slots[name]
        if len(place) != len(whole.shape) or any(k >= size for k, size in zip(place, whole.shape, strict=True)):
            raise UnknownName(f'"{name}" has no component {list(place)}; its shape is {whole.shape}')
        index = int(np.ravel_multi_index(place, whole.shape))
        units = spread(whole.unit, whole.size) if ";" not in whole.unit else None
        return Slot(whole.block, whole.start + index, (), units[index] if units else "")

    def __contains__(self, name: object) -> bool:
        return name in self.slots

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def names(self, block: str | None = None) -> tuple[str, ...]:
        """All names, or those of one block, without the steps inside elements, which can be asked for all the same."""
        named = ((name, slot) for name, slot in self.slots.items() if block in (None, slot.block))
        return tuple(name for name, _ in named if not is_internal(name))

    def label(self, block: str, index: int) -> str:
        """Name of one number: "body.pose[3]"; a plain index where no name covers it."""
        for name, slot in self.slots.items():
            if slot.block == block and slot.start <= index < slot.stop:
                if not slot.shape:
                    return name
                place = np.unravel_index(index - slot.start, slot.shape)
                return f"{name}[{', '.join(str(int(i)) for i in place)}]"
        return f"{block}[{index}]"


@brief
@dataclass(frozen=True)
class RunTransition:
    """One edge of a switch's state machine: fires when its guard crosses zero upward while mode `source` is active.

    Parameters
    ----------
    name : the switch in the user's words ("contact").
    slot : index into the mode vector m.
    source, target : value of m[slot] before and after.
    kind : what happens ("contact on").
    internal : a change of description (of chart), not of the physics.
    error : terminal; the run ends here with this as its reason.
    accumulates : value of m[slot] with which a run goes on where this edge fires ever faster, towards a limit.
    last : taken only where no other edge is: the mode has no solution, and nothing leads out of it.
    impact : whether constraints turn flows round.
    first : taken before all others: what they answer has no meaning there.
    """

    name: str
    slot: int
    source: float
    target: float
    kind: str
    internal: bool = False
    error: Problem | str | None = None
    accumulates: float | None = None
    last: bool = False
    impact: bool = False
    first: bool = False


@dataclass(frozen=True)
class RunClock:
    """Ticks at offset + n period, n = 0, 1, ..., at which states that are held between them take new values.

    Parameters
    ----------
    name : the element in the user's words.
    period, offset : in s: a float, or the index (int) of a number in p; an infinite period is one tick only.
    kernel : x after the tick, (n,).
    """

    name: str
    period: float | int
    offset: float | int
    kernel: Kernel | None = None


@dataclass(frozen=True)
class NewtonLoop:
    """A nonlinear algebraic loop: states that hold its unknowns, and what a Newton iteration needs.

    Parameters
    ----------
    elements : the elements whose relations close the loop, for messages.
    states : indices into x of the unknowns.
    kernel : residuals (k,), then the Newton step (k,), at the unknowns in x.
    steps : how many of them every evaluation takes.
    near : size of the guess of each unknown where the loop was found regular; far below that is zero.
    """

    elements: tuple[str, ...]
    states: tuple[int, ...]
    kernel: Kernel
    steps: int
    near: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rubs:
    """Dry friction in a collision: its count of directions, the place of its mode (0: it sticks), and, where it has several
    directions, the places in x at which it notes heading and pace."""

    name: str
    dimension: int
    slot: int
    heading: tuple[int, ...] = ()
    pace: tuple[int, ...] = ()


@dataclass(frozen=True)
class Collisions:
    """Constraints that may collide at the same time.

    Parameters
    ----------
    kernel : for c scalars of them and of f frictions, n states, k transitions and s powers: states per unit of impulse (n, c),
        flows per impulse (c, c), what an impulse adds to guards (k, c), what sources give per impulse (s, c), limits of friction
        per impulse (f, c), flows (c,), restitutions (c,).
    constraints : the elements in the user's words.
    bounces : of each constraint the transitions that turn its flow round, or bring it to hold.
    frictions : dry friction, which takes part.
    """

    kernel: Kernel
    constraints: tuple[str, ...]
    bounces: tuple[tuple[int, ...], ...]
    frictions: tuple[Rubs, ...] = ()


@dataclass(frozen=True)
class Absent:
    """A kernel whose code was left behind where its results were computed: how many numbers it gave, and no way to ask again."""

    n_out: int
    sizes: tuple[int, ...]

    def __call__(self, *blocks: object, **more: object) -> NoReturn:
        title, why = (
            "these values were not computed before the result was pickled",
            "a result takes its samples along, not the code",
        )
        cures = ("what is asked for, computed where the run was made",)
        raise RunError(Problem("E158", title, (f"{why} that computed them",), cures=cures))

    bind = many = __call__


@brief
@dataclass(frozen=True)
class RunContact:
    """A place where bodies may touch: what the model says of it, and (place in m, mode) in which there is no force.

    `forces` : where steps give them, the signals of the normal force, N, and of the friction on body 2 along the slips, N.
    """

    point: ContactPoint
    off: tuple[tuple[int, float], ...]
    forces: tuple[str, ...] = ()

    def touching(self, m: np.ndarray) -> np.ndarray:
        """Whether its law acts in modes (..., modes)."""
        return np.all([m[..., slot] != mode for slot, mode in self.off], axis=0)


@brief
@dataclass(frozen=True)
class Program:
    """A compiled model: everything that a solver needs to run it and to name its results.

    Parameters
    ----------
    name : the model's name.
    rates : kernel for dx/dt, (n,).
    guards : one value per transition, already -1 where its source mode is not active; None without transitions.
    powers : one power per dissipator or source, W; None if there are none.
    energies : energy per storage, J; None if there are none.
    outputs : all named outputs; None if there are none.
    choose : makes a kernel of the outputs in some slots alone, and says where it gives each of these; None without it.
    in_lanes : makes the kernels for so many runs side by side, where these have the bits of runs alone; None without it.
    resets : one per transition: x after it, (n,); None where x does not change.
    pushes : one per transition: what its impulse adds to all guards (k,), then x after it without the impulse (n,); None where
        no other transition could answer.
    supplies : one per transition: what sources give in its impulse, J (one number for each power); None where they give nothing.
    transitions : the edges of all state machines.
    layout : names.
    nominal : (n,) usual size of each state, a hint of the user's; 0 where there is none.
    differentiate : makes the Jacobian when it is first asked for: the kernel of the nonzeros of d rates / d x in compressed
        column order (None if there are none), and (indptr (n + 1,), indices (nonzeros,)) of that order.
    couple : makes the same for error control, which asks for it a few dozen times in a run: what is soon made may be slow.
        None where that is `differentiate`.
    power_names, power_roles : a name and a role ("dissipated", "supplied" or "injected") per power.
    energy_names : a name per storage.
    loops : nonlinear algebraic loops, whose unknowns must be found before a run and after events.
    collisions : what is needed where several constraints collide at once; None where that cannot be.
    clocks : in the order in which those that tick together do so.
    closing, closures : constraints on positions as the rows of a matrix, and its entries (with right sides and what is left of
        them for rows that repeat others); None without any.
    closing_matrix : the entries alone, as machine code where that can be had.
    indeterminate : modes (slot -> state) with the efforts and flows that their equations leave open, shared by least norm.
    breaks : for each time at which rates or guards jump or bend: that time, then for each the period after which it comes again
        (inf where it does not), s, from the parameters at the front of p; None where there are none.
    break_names : an element for each.
    contacts : where bodies may touch.
    mode_states : of each automaton, in the order of the modes, the names of its states.
    bonds : the names of every bond's effort and flow.
    model : what was compiled; None where only its results are.
    rates_and_powers : optional fused kernel, (n + powers,): shares what both need and saves the explicit solver a call.
    """

    name: str
    rates: Kernel
    nominal: np.ndarray
    layout: Layout = field(default_factory=Layout)
    guards: Kernel | None = None
    powers: Kernel | None = None
    energies: Kernel | None = None
    outputs: Kernel | None = None
    choose: Callable[[tuple[Slot, ...]], tuple[Kernel, tuple[int, ...]]] | None = None
    in_lanes: Callable[[int], LaneKernels | None] | None = None
    resets: tuple[Kernel | None, ...] = ()
    pushes: tuple[Kernel | None, ...] = ()
    supplies: tuple[Kernel | None, ...] = ()
    transitions: tuple[RunTransition, ...] = ()
    differentiate: Callable[[], tuple[Kernel | None, tuple[np.ndarray, np.ndarray]]] | None = None
    couple: Callable[[], tuple[Kernel | None, tuple[np.ndarray, np.ndarray]]] | None = None
    power_names: tuple[str, ...] = ()
    power_roles: tuple[str, ...] = ()
    energy_names: tuple[str, ...] = ()
    rates_and_powers: Kernel | None = None
    loops: tuple[NewtonLoop, ...] = ()
    clocks: tuple[RunClock, ...] = ()
    closing: Closing | None = None
    closures: Kernel | None = None
    closing_matrix: Kernel | None = None
    indeterminate: tuple[tuple[Mapping[int, int], tuple[str, ...]], ...] = ()
    collisions: Collisions | None = None
    breaks: Kernel | None = None
    break_names: tuple[str, ...] = ()
    contacts: tuple[RunContact, ...] = ()
    mode_states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bonds: Sequence[BondVariables] = ()
    model: Model | None = None

    def __post_init__(self) -> None:
        counts = (
            ("transitions", len(self.transitions), self.guards.n_out if self.guards is not None else 0),
            ("power roles", len(self.power_roles), self.powers.n_out if self.powers is not None else 0),
            ("nominal sizes", len(self.nominal), self.states),
        )
        for what, given, needed in counts:
            if given != needed:
                raise ValueError(f'program "{self.name}" has {given} {what} for {needed} values of its kernel')
        if unknown := set(self.power_roles) - set(ROLES):
            raise ValueError(f'program "{self.name}" has unknown power roles {sorted(unknown)}')

    def described(self) -> Program:
        """Names, roles and sizes without any code: what a result needs of its program elsewhere."""

        def absent(kernel: Kernel | None) -> Any:
            return None if kernel is None else Absent(int(kernel.n_out), tuple(kernel.sizes))

        left_out = "choose in_lanes differentiate couple rates_and_powers collisions closing closures closing_matrix breaks model"
        without: dict[str, Any] = dict.fromkeys(("resets", "pushes", "supplies", "loops", "clocks"), ())
        without |= dict.fromkeys(left_out.split())
        without |= {name: absent(getattr(self, name)) for name in ("rates", "guards", "powers", "energies", "outputs")}
        return replace(self, **without)

    @property
    def jacobian(self) -> Kernel | None:
        """Nonzeros of d rates / d x in compressed column order; None if no rate depends on a state."""
        return self._derivatives[0]

    @property
    def jacobian_pattern(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(indptr (n + 1,), indices (nonzeros,)) of the Jacobian's order."""
        return self._derivatives[1]

    @property
    def jacobian_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns (nonzeros,) of the Jacobian's order; none where no rate depends on a state."""
        if self.jacobian is None or self.jacobian_pattern is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        indptr, indices = (np.asarray(part, dtype=np.int64) for part in self.jacobian_pattern)
        return indices, np.repeat(np.arange(self.states), np.diff(indptr))

    def matrix_layout(self, kind: str) -> MatrixLayout:
        """How 1 - h J lies in memory, by the kind of algebra; found once for each."""
        if kind not in self._layouts:
            self._layouts[kind] = layout_of(self.states, *self.jacobian_entries, kind)
        return self._layouts[kind]

    @OnceProperty
    def _layouts(self) -> dict[str, MatrixLayout]:
        return {}

    @OnceProperty
    def _derivatives(self) -> tuple[Kernel | None, tuple[np.ndarray, np.ndarray] | None]:
        return (None, None) if self.differentiate is None else self.differentiate()

    @OnceProperty
    def couplings(self) -> tuple[Kernel | None, Structures]:
        """Derivatives of the rates for error control, and what follows from which of them are not zero, for those that have been
        met."""
        kernel, pattern = self._derivatives if self.couple is None else self.couple()
        nothing = np.zeros(self.states + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return kernel, Structures(*(nothing if pattern is None else pattern))

    @cached_property
    def is_machine_code(self) -> bool:
        """Whether all that runs inside an integrator is machine code."""
        kernels = [self.rates, self.guards, self.powers, self.energies, self.rates_and_powers]
        kernels += [clock.kernel for clock in self.clocks]
        if not all(kernel is None or kernel.is_machine_code for kernel in kernels):
            return False
        couple = self.couplings[0]
        return couple is None or couple.steps is not None or couple.is_machine_code

    @property
    def typical(self) -> np.ndarray:
        """Usual size of each state (n,), 1 where there is no hint: for steps and random states of the analyses."""
        hints = np.abs(self.nominal)
        return np.where(hints > 0.0, hints, 1.0)

    @property
    def states(self) -> int:
        """Length of x."""
        return int(self.rates.sizes[1])

    @property
    def parameters(self) -> int:
        """Length of p."""
        return int(self.rates.sizes[2])

    @property
    def modes(self) -> int:
        """Length of m."""
        return int(self.rates.sizes[3])
