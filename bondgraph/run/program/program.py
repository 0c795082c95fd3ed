"""Program: the kernels and names of a compiled model.

A kernel takes the blocks t (1,), x (n,), p (parameters,), m (modes,) and fills one array. It holds no state of a run, so threads
can share one program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.emit.cached_build import OnceProperty
from bondgraph.output.short_repr import short_repr
from bondgraph.run.linear.layout import MatrixLayout, layout_of, pair_layout_of
from bondgraph.run.program.balances import Balances, Island, balances
from bondgraph.run.program.bonds import BondVariables
from bondgraph.run.program.kernels import CollisionFriction, Collisions, NewtonLoop, RunClock, RunDelay, UnavailableKernel
from bondgraph.run.program.names import Layout, Slot
from bondgraph.run.program.transitions import RunContact, RunTransition
from bondgraph.run.sparsity.cache import StructureCache
from screws.errors import plural

if TYPE_CHECKING:
    from bondgraph.assembly.indeterminate import Indeterminate, IndeterminateCircuits
    from bondgraph.assembly.system import BoxLayout, ConstraintMatrixLayout
    from bondgraph.emit.kernel import Kernel, LaneKernels
    from bondgraph.model.model import Model

ROLES = ("dissipated", "supplied", "injected", "converted", "received")


@short_repr
@dataclass(frozen=True)
class Program:
    """Compiled model: everything that a solver needs to run it and to name its results.

    Parameters
    ----------
    name : the model's name.
    rates : kernel for dx/dt, (n,).
    guards : one value per transition, -1 if its source mode is not active; None without transitions.
    powers, energies : a power for each of `power_names` and an energy for each of `energy_names`, W and J unless their domains
        have other units; None if there are none.
    outputs : all named outputs; None if there are none.
    choose : makes a kernel for the outputs in some slots only, and returns the index of each slot in its output; None if
        unavailable.
    in_lanes : makes the kernels for a number of SIMD lanes, if their results are bitwise equal to those of single runs; None if
        unavailable.
    texts : writes the LLVM IR of the kernels that many runs call, including a kernel named "chosen" for the outputs in some slots
        only, and the Jacobian if needed; None if they are not straight-line machine code.
    expand : makes the kernel of the Taylor coefficients of x and of the integrals of the powers, (orders, n + powers), for orders
        from 1 up to a given maximum; None if unavailable.
    resets : one kernel per transition, for x after the transition (n,); None if x does not change.
    pushes : one kernel per transition, for the change of all guards by its impulse (k,), then x after the transition without the
        impulse (n,); None if no other transition could react.
    supplies : one kernel per transition, for the energy that sources supply during its impulse, J, one value per power; None if
        they supply no energy.
    transitions : edges of all state machines.
    layout : names of all values.
    nominal : typical size of each state (n,), given by the user as a hint; 0 without a hint.
    differentiate : makes the Jacobian when it is first needed; returns the kernel of the nonzeros of d rates / d x in compressed
        column order (None if there are none), and (indptr (n + 1,), indices (nonzeros,)) of that order.
    couple : makes a Jacobian as `differentiate` does, but faster, for error control, which evaluates it only a few dozen times in
        a run; None means `differentiate`.
    power_names, power_roles : name of the element of each power, and its role, one of `ROLES`.
    energy_names : name of each storage.
    islands : parts of the graph that bonds connect, with their storages and powers; empty for one balance of the whole model.
    loops : nonlinear algebraic loops, to be solved before a run and after events.
    collisions : data of constraints that can collide at the same time; None if there are none.
    clocks : clocks, in the order in which simultaneous ticks are carried out.
    delays : delayed signals.
    closing : layout of the constraint matrix A = J M^-1 J^T, with the rows of the position constraints that are always active;
        None without constraints.
    closures : kernel of the constraint flows, the entries of A, and the right-hand sides and residuals of its redundant rows;
        None without constraints.
    closing_flows, closing_matrix : kernels of the constraint flows only, and of the entries of A only; None if not available.
    boxes : kernel of the complementarity problems of dry friction: for each problem its entries, offsets, lower and upper bounds
        and flags of active rows; None without such problems.
    box_layouts : layout of each of these problems.
    indeterminate : modes whose equations do not determine some efforts and flows, which then take their values of least norm.
    breaks : times of all breaks of the rates or guards (jumps or kinks), then their periods (inf for a single break), s, as a
        function of the model's parameters, with which p begins; None if there are none.
    break_names : element of each break.
    contacts : points at which bodies may touch.
    autonomous : True if the rates are known to be independent of time.
    mode_states : names of the states of each automaton, in the order of the modes.
    bonds : every bond, with the names of its effort and flow.
    model : model from which the program was compiled; None in a program without code.
    rates_and_powers : optional fused kernel, (n + powers,), which shares work and saves the explicit solver a call.
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
    texts: Callable[[tuple[Slot, ...], bool], list[str]] | None = None
    expand: Callable[[int], Kernel] | None = None
    resets: tuple[Kernel | None, ...] = ()
    pushes: tuple[Kernel | None, ...] = ()
    supplies: tuple[Kernel | None, ...] = ()
    transitions: tuple[RunTransition, ...] = ()
    differentiate: Callable[[], tuple[Kernel | None, tuple[np.ndarray, np.ndarray]]] | None = None
    couple: Callable[[], tuple[Kernel | None, tuple[np.ndarray, np.ndarray]]] | None = None
    power_names: tuple[str, ...] = ()
    power_roles: tuple[str, ...] = ()
    energy_names: tuple[str, ...] = ()
    islands: Sequence[Island] = ()
    rates_and_powers: Kernel | None = None
    loops: tuple[NewtonLoop, ...] = ()
    clocks: tuple[RunClock, ...] = ()
    delays: tuple[RunDelay, ...] = ()
    closing: ConstraintMatrixLayout | None = None
    closures: Kernel | None = None
    closing_flows: Kernel | None = None
    closing_matrix: Kernel | None = None
    boxes: Kernel | None = None
    box_layouts: tuple[BoxLayout, ...] = ()
    indeterminate: tuple[Indeterminate | IndeterminateCircuits, ...] = ()
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
            ("power roles", len(self.power_roles), self.quadratures),
            ("nominal sizes", len(self.nominal), self.states),
        )
        for what, count, needed in counts:
            if count != needed:
                raise ValueError(f'program "{self.name}" has {count} {what}, but its kernel has {plural(needed, "value")}')
        if unknown := set(self.power_roles) - set(ROLES):
            raise ValueError(f'program "{self.name}" has unknown power roles {sorted(unknown)}')

    def described(self) -> Program:
        """Return the program without code, with the names, roles and sizes that a result needs in another process."""

        def absent(kernel: Kernel | None) -> Any:
            return None if kernel is None else UnavailableKernel(int(kernel.n_out), tuple(kernel.sizes))

        left_out = "choose in_lanes texts expand differentiate couple rates_and_powers collisions closing closures breaks model"
        left_out += " closing_flows closing_matrix boxes"
        replaced: dict[str, Any] = dict.fromkeys(("resets", "pushes", "supplies", "loops", "clocks", "delays"), ())
        replaced |= dict.fromkeys(left_out.split())
        replaced |= {name: absent(getattr(self, name)) for name in ("rates", "guards", "powers", "energies", "outputs")}
        return replace(self, **replaced)

    @property
    def jacobian(self) -> Kernel | None:
        """Nonzeros of d rates / d x in compressed column order; None without derivatives, or if no rate depends on a state."""
        return self._derivatives[0]

    @property
    def impact_frictions(self) -> tuple[CollisionFriction, ...]:
        """Dry friction elements that take part in impacts."""
        return () if self.collisions is None else self.collisions.frictions

    @property
    def jacobian_pattern(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Compressed-column pattern (indptr (n + 1,), indices (nonzeros,)) of the Jacobian; None without derivatives."""
        return self._derivatives[1]

    @property
    def jacobian_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns (nonzeros,) of the Jacobian's entries; empty without a Jacobian."""
        if self.jacobian is None or self.jacobian_pattern is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        indptr, indices = (np.asarray(part, dtype=np.int64) for part in self.jacobian_pattern)
        return indices, np.repeat(np.arange(self.states), np.diff(indptr))

    def matrix_layout(self, kind: str) -> MatrixLayout:
        """Return the memory layout of 1 - h J for a kind of linear algebra, computed once for each kind."""
        if kind not in self._layouts:
            self._layouts[kind] = layout_of(self.states, *self.jacobian_entries, kind)
        return self._layouts[kind]

    def pair_layout(self, kind: str) -> MatrixLayout:
        """Return the memory layout for two unknowns per state (`layout.pair_layout_of`), computed once for each kind."""
        if (name := f"pair {kind}") not in self._layouts:
            self._layouts[name] = pair_layout_of(self.matrix_layout(kind), *self.jacobian_entries)
        return self._layouts[name]

    @OnceProperty
    def _layouts(self) -> dict[str, MatrixLayout]:
        return {}

    @OnceProperty
    def _derivatives(self) -> tuple[Kernel | None, tuple[np.ndarray, np.ndarray] | None]:
        return (None, None) if self.differentiate is None else self.differentiate()

    @OnceProperty
    def jacobian_couplings(self) -> tuple[Kernel | None, StructureCache]:
        kernel, pattern = self._derivatives if self.couple is None else self.couple()
        nothing = np.zeros(self.states + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return kernel, StructureCache(*(nothing if pattern is None else pattern))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Kernels that run inside an integrator, except derivatives."""
        kernels = [self.rates, self.guards, self.powers, self.energies, self.rates_and_powers]
        kernels += [clock.kernel for clock in self.clocks] + [delay.kernel for delay in self.delays]
        return tuple(kernel for kernel in kernels if kernel is not None)

    @cached_property
    def is_machine_code(self) -> bool:
        if not all(kernel.is_machine_code for kernel in self.kernels):
            return False
        couple = self.jacobian_couplings[0]
        return couple is None or couple.steps is not None or couple.is_machine_code

    @OnceProperty
    def balances(self) -> Balances:
        return balances(self.islands, self.power_roles, ROLES)

    @property
    def typical(self) -> np.ndarray:
        """Typical size of each state (n,), 1 without a hint; used for steps and random states in analyses."""
        hints = np.abs(self.nominal)
        return np.where(hints > 0.0, hints, 1.0)

    @property
    def quadratures(self) -> int:
        """Number of powers, whose integrals a run computes."""
        return 0 if self.powers is None else int(self.powers.n_out)

    @property
    def storages(self) -> int:
        return 0 if self.energies is None else int(self.energies.n_out)

    @property
    def loop_states(self) -> list[int]:
        """Indices of the states that are unknowns of algebraic loops."""
        return [state for loop in self.loops for state in loop.states]

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
