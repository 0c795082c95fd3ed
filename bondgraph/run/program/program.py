"""Record of all that a compiled model offers to a solver: the program.

A kernel takes the blocks t (1,), x (n,), p (parameters,), m (modes,) and fills one array. It holds no state
of a run, so that threads can share one program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.output.short_repr import short_repr
from bondgraph.run.linear.layout import MatrixLayout, layout_of
from bondgraph.run.program.bonds import BondVariables
from bondgraph.run.program.kernels import Collisions, NewtonLoop, RunClock, UnavailableKernel
from bondgraph.run.program.names import Layout, Slot
from bondgraph.run.program.transitions import RunContact, RunTransition
from bondgraph.run.sparsity.reference import StructureCache

if TYPE_CHECKING:
    from bondgraph.assembly.system import Closing
    from bondgraph.emit.kernel import Kernel, LaneKernels
    from bondgraph.model.model import Model

ROLES = ("dissipated", "supplied", "injected")


@short_repr
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
    closing_flows, closing_matrix : their flows alone, and the entries, as machine code where that can be had.
    indeterminate : modes (slot -> state) with the efforts and flows that their equations leave open, shared by least norm.
    breaks : for each time at which rates or guards jump or bend: that time, then for each the period after which it comes again
        (inf where it does not), s, from the parameters at the front of p; None where there are none.
    break_names : an element for each.
    contacts : where bodies may touch.
    autonomous : whether it is known that no rate depends on the time.
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
    closing_flows: Kernel | None = None
    closing_matrix: Kernel | None = None
    indeterminate: tuple[tuple[Mapping[int, int], tuple[str, ...]], ...] = ()
    collisions: Collisions | None = None
    breaks: Kernel | None = None
    break_names: tuple[str, ...] = ()
    contacts: tuple[RunContact, ...] = ()
    autonomous: bool = False
    mode_states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bonds: Sequence[BondVariables] = ()
    model: Model | None = None

    def __post_init__(self) -> None:
        counts = (
            ("transitions", len(self.transitions), self.guards.n_out if self.guards is not None else 0),
            ("power roles", len(self.power_roles), self.powers.n_out if self.powers is not None else 0),
            ("nominal sizes", len(self.nominal), self.states),
        )
        for what, count, needed in counts:
            if count != needed:
                raise ValueError(f'program "{self.name}" has {count} {what} for {needed} values of its kernel')
        if unknown := set(self.power_roles) - set(ROLES):
            raise ValueError(f'program "{self.name}" has unknown power roles {sorted(unknown)}')

    def described(self) -> Program:
        """Names, roles and sizes without any code: what a result needs of its program elsewhere."""

        def absent(kernel: Kernel | None) -> Any:
            return None if kernel is None else UnavailableKernel(int(kernel.n_out), tuple(kernel.sizes))

        left_out = "choose in_lanes differentiate couple rates_and_powers collisions closing closures breaks model"
        left_out += " closing_flows closing_matrix"
        replaced: dict[str, Any] = dict.fromkeys(("resets", "pushes", "supplies", "loops", "clocks"), ())
        replaced |= dict.fromkeys(left_out.split())
        replaced |= {name: absent(getattr(self, name)) for name in ("rates", "guards", "powers", "energies", "outputs")}
        return replace(self, **replaced)

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
        """Return the memory layout of 1 - h J for a kind of algebra; it is computed once for each."""
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
    def jacobian_couplings(self) -> tuple[Kernel | None, StructureCache]:
        """Derivatives of the rates for error control, and what follows from which of them are not zero, for those that have been
        met."""
        kernel, pattern = self._derivatives if self.couple is None else self.couple()
        nothing = np.zeros(self.states + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return kernel, StructureCache(*(nothing if pattern is None else pattern))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels that run inside an integrator, but for derivatives."""
        kernels = [self.rates, self.guards, self.powers, self.energies, self.rates_and_powers]
        kernels += [clock.kernel for clock in self.clocks]
        return tuple(kernel for kernel in kernels if kernel is not None)

    @cached_property
    def is_machine_code(self) -> bool:
        """True if all that runs inside an integrator is machine code."""
        if not all(kernel.is_machine_code for kernel in self.kernels):
            return False
        couple = self.jacobian_couplings[0]
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
