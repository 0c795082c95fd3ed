"""Reactions of the ideal elements in a linear system on a tape, also for parts of the system and single modes.

If the equations do not determine all unknowns, the reactions of ideal elements share an effort or flow (`indeterminate`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bondgraph.assembly.system import Statement, Unknown
from bondgraph.model.ops import Choice, mode_is_active
from bondgraph.tape.differentiate import jacobian
from bondgraph.tracing.on_tape.context import ActingUnknowns, TracingContext, along
from bondgraph.tracing.on_tape.discontinuities import is_discontinuous
from bondgraph.tracing.on_tape.values import Entries, Values, nonzero, partials, scalars_of, through
from screws.scalars import maximum

Derived = Callable[[Sequence[Mapping[int, Any]], Sequence[Any]], Sequence[tuple[Mapping[int, Any], Any]]]
"""Function (combinations of equations, their right-hand sides) -> the equation of the rate of each combination, as entries
and right-hand side; there are no entries if it has no rate, or if no unknown acts on the rate."""


@dataclass(frozen=True)
class IdealReaction:
    """An effort or flow with which an ideal element keeps its vanishing quantity at zero: slope for each unknown, value at zero
    unknowns, and the limit of its magnitude, if any."""

    element: str
    slopes: Mapping[int, Any]
    offset: Any
    limit: Any = None

    def at(self, w: Sequence[Any]) -> Any:
        return sum((slope * w[j] for j, slope in self.slopes.items()), self.offset)


@dataclass(frozen=True)
class RowGate:
    """The mode that decides between the two forms of the equation of an ideal element."""

    slot: int
    active: tuple[int, ...]
    others: tuple[int, ...]
    holds: Any
    """Condition under which the element is active: a scalar of the tape, or a constant in a mode that an event sets."""
    sense: int
    """+1 if the element absorbs the power (reaction times vanishing quantity), else -1."""


@dataclass(frozen=True)
class Ideal:
    """Reactions of ideal elements in a linear system, used if its equations do not determine all unknowns."""

    reactions: tuple[IdealReaction, ...]
    senses: Mapping[int, Any]
    """Sign of the power (reaction times vanishing quantity) of each equation: +1 if its element absorbs power, -1 if it
    supplies power, 0 while it is inactive."""
    moves: Entries
    """Derivatives of the states' rates, or of their jumps in an impulse, with respect to the unknowns, by (state, unknown)."""
    derived: Derived
    without_stabilisation: Callable[[Sequence[Any]], Sequence[Any]]
    """Function that sets positions in right-hand sides to zero, so that their stabilisation is ignored."""
    motion: bool = True
    gates: Mapping[int, RowGate] = field(default_factory=dict)
    decays: Mapping[int, Any] = field(default_factory=dict)
    """Rate of decay, 1/s, of each vanishing quantity that depends on unknowns, by index of its equation."""
    rated: frozenset[int] = frozenset()
    """Equations of the rates of vanishing quantities that depend only on states."""

    def part(self, rows: Sequence[int], columns: Sequence[int], solution: Sequence[Any]) -> Ideal:
        """Return the reactions in some equations and unknowns; `solution` has the values of the other unknowns."""
        row, column = {i: k for k, i in enumerate(rows)}, {j: k for k, j in enumerate(columns)}
        reactions = []
        for r in self.reactions:
            inner = {column[j]: value for j, value in r.slopes.items() if j in column}
            if inner:
                others = [value * solution[j] for j, value in r.slopes.items() if j not in column]
                reactions.append(IdealReaction(r.element, inner, sum(others, r.offset), r.limit))

        def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
            equations = []
            for entries, value in self.derived([{rows[i]: c for i, c in each.items()} for each in combinations], right):
                moved = sum((e * solution[j] for j, e in entries.items() if j not in column), 0.0)
                equations.append(({column[j]: e for j, e in entries.items() if j in column}, value - moved))
            return equations

        senses = {row[i]: value for i, value in self.senses.items() if i in row}
        moves = {(i, column[j]): value for (i, j), value in self.moves.items() if j in column}
        gates = {row[i]: gate for i, gate in self.gates.items() if i in row}
        decays, rated = {row[i]: value for i, value in self.decays.items() if i in row}, {row[i] for i in self.rated if i in row}
        restricted = replace(self, reactions=tuple(reactions), senses=senses, moves=moves, derived=derived, gates=gates)
        return replace(restricted, decays=decays, rated=frozenset(rated))

    def folded(self, fold: Callable[[Sequence[Any]], Sequence[Any]]) -> Ideal:
        reactions = []
        for r in self.reactions:
            bound = {} if r.limit is None else {"limit": r.limit}
            folded = through(fold, {**r.slopes, "offset": r.offset, **bound})
            offset, limit = folded.pop("offset"), folded.pop("limit", None)
            reactions.append(IdealReaction(r.element, nonzero(folded), offset, limit))

        def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
            equations = [through(fold, {**entries, "right": value}) for entries, value in self.derived(combinations, right)]
            rights = [equation.pop("right") for equation in equations]
            return list(zip(map(nonzero, equations), rights, strict=True))

        senses, moves = through(fold, self.senses), nonzero(through(fold, self.moves))
        return replace(self, reactions=tuple(reactions), senses=senses, moves=moves, derived=derived)


Evaluated = Callable[[Sequence[Any]], Sequence[Any]]
"""Function of scalars in terms of the unknowns w that returns their values at w = 0 (in an impulse: at the states before it,
in the modes after it)."""


def along_the_motion(context: TracingContext, acting: ActingUnknowns) -> Ideal:
    values, owners = acting.values, acting.owners
    zero = functools.partial(context.without, acting.w)
    rates = context.rates(values)

    def derived(combinations: Sequence[Mapping[int, Any]], right: Sequence[Any]) -> Any:
        equations: list[tuple[Mapping[int, Any], Any]] = []
        for combination, value in zip(combinations, right, strict=True):
            scalar = context.tape.scalar(value)
            alpha = _decay_rate(values, [owners[i].element for i in combination])
            if alpha is None or is_discontinuous(context, [scalar]):
                equations.append(({}, 0.0))
                continue
            slope = along(context.slopes([scalar]), rates, [alpha * scalar])
            entries = {j: entry for (_, j), entry in partials(slope, acting.w).items()}
            equations.append((entries, -zero(slope)[0]))
        return equations

    positions = [h for u in context.system.unknowns if f"{u.element}.h" in values for h in scalars_of(values[f"{u.element}.h"])]
    without_stabilisation = functools.partial(context.without, [h for h in positions if context.tape.scalar(h).value is None])
    return _ideal(context, acting, zero, derived, without_stabilisation, partials(rates, acting.w), motion=True)


def in_an_impulse(context: TracingContext, acting: ActingUnknowns, at: Evaluated, action: Entries) -> Ideal:
    """Return the reactions as integrals over an impulse, which changes states by `action`, a scalar for each
    (state, unknown)."""
    owners = acting.owners

    def derived(combinations: Sequence[Mapping[int, Any]], _: Sequence[Any]) -> Any:
        equations: list[tuple[Mapping[int, Any], Any]] = []
        for combination in combinations:
            if not all(owners[i].algebraic and owners[i].stopped for i in combination):
                equations.append(({}, 0.0))
                continue
            total: Any = 0.0
            for i, part in combination.items():
                stopped = scalars_of(acting.values[owners[i].stopped])[i - owners.index(owners[i])]
                total = total + part * acting.values[f"{owners[i].element}.alpha1"] * stopped
            sparse = jacobian([total], list(context.inputs["x"]))
            slopes = dict(zip(sparse.columns, at(list(sparse.values)), strict=True))
            row: dict[int, Any] = {}
            for (i, j), moved in action.items():
                if i in slopes:
                    row[j] = row.get(j, 0.0) + slopes[i] * moved
            equations.append((row, -at([total])[0]))
        return equations

    return _ideal(context, acting, at, derived, list, action, motion=False)


def _ideal(
    context: TracingContext,
    acting: ActingUnknowns,
    at: Evaluated,
    derived: Derived,
    without_stabilisation: Callable[[Sequence[Any]], Sequence[Any]],
    moves: Entries,
    motion: bool,
) -> Ideal:
    values = acting.values
    reactions: list[IdealReaction] = []
    senses: dict[int, Any] = {}
    gates: dict[int, RowGate] = {}
    decays, rated = dict[int, Any](), set[int]()
    row = 0
    for u in context.system.unknowns:
        size = len(scalars_of(values[u.value]))
        gate = context.stages.gates.get(u.residual)
        if u.held:
            reactions += _reactions(u, gate, acting, at, motion)
            sense = u.sense if gate is None else gate.op(values[gate.args[0]], float(u.sense), 0.0)
            senses |= {row + k: at([sense])[0] for k in range(size)} if motion else {}
            unacted = at(acting.decided.get(u.element, [0.0] * size))
            acted = {k for k in range(size) if u.algebraic and context.tape.scalar(unacted[k]).value != 1.0}
            decays |= {row + k: values[f"{u.element}.alpha1"] for k in acted}
            rated |= {row + k for k in set(range(size)) - acted}
        if gate is not None:
            gates |= dict.fromkeys(range(row, row + size), _row_gate(context, gate, at, u.sense))
        row += size
    return Ideal(tuple(reactions), senses, moves, derived, without_stabilisation, motion, gates, decays, frozenset(rated))


def _row_gate(context: TracingContext, gate: Statement, at: Evaluated, sense: int) -> RowGate:
    assert isinstance(gate.op, Choice)
    signal = context.system.modes[gate.args[0]]
    mode = at([context.inputs["m"][signal.slot]])[0]
    others = tuple(k for k in range(len(signal.states)) if k not in gate.op.active)
    return RowGate(signal.slot, gate.op.active, others, mode_is_active(mode, gate.op.active), sense)


def _reactions(u: Unknown, gate: Statement | None, acting: ActingUnknowns, at: Evaluated, motion: bool) -> list[IdealReaction]:
    """Return the reactions of an unknown: its value while the element is active, or the vanishing quantity of an open switch."""
    values = acting.values
    value, limits = values[u.value], None
    if gate is not None and gate.args[2] == u.value:
        if u.reason == "switch":
            value = gate.op(values[gate.args[0]], value, values[u.vanishing])
    elif gate is not None:
        limits = at(scalars_of(values[gate.args[2]]))
    scalars = scalars_of(value)
    numbers = through(at, partials(scalars, acting.w))
    offsets = at(scalars) if motion else [0.0] * len(scalars)
    return [
        IdealReaction(
            u.element,
            {j: slope for (i, j), slope in numbers.items() if i == k},
            offsets[k],
            None if limits is None else limits[k],
        )
        for k in range(len(scalars))
    ]


def reaction_names(context: TracingContext, elements: Collection[str], modes: Mapping[int, int]) -> tuple[str, ...]:
    system, gates, slots = context.system, context.stages.gates, list(context.system.modes)
    states = {slots[slot]: float(state) for slot, state in modes.items()}
    names = []
    for u in system.unknowns:
        if u.element in elements and u.held:
            gate, of_effort = gates.get(u.residual), system.resolve(f"{u.element}.effort") == u.value
            holds = gate is None or gate.args[0] not in states or bool(gate.op(states[gate.args[0]], 1.0, 0.0))
            names.append(f"{u.element}.{'effort' if of_effort == holds or u.reason == 'constraint' else 'flow'}")
    return tuple(names)


def _decay_rate(values: Values, elements: Sequence[str]) -> Any:
    rates = [values[name] for element in dict.fromkeys(elements) if (name := f"{element}.alpha1") in values]
    return functools.reduce(maximum, rates) if rates else None
