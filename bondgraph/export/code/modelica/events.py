"""Transitions and ticks as `when` clauses.

All clauses that assign or reinitialise the same variable form one chain of `elsewhen`, because a variable has only one such
equation. Each iteration of an event takes one branch of a chain. If guards of several automata become true simultaneously, the
first automaton by name fires first, as in `simulate`: other automata wait for the next iteration, when guards may have changed.

As in `simulate`, a transition reads the states that simultaneous ticks have set, and a clock reads the states that earlier clocks
have set; everything else is read as it was before the instant.

A transition whose guard is positive at the start fires immediately: since `when` needs a condition that becomes true, all
conditions wait for `begun`, which the event at time 0 makes true. The unknowns of nonlinear loops follow from the modes and
sampled states before an instant, so a firing cannot depend on itself; the next iteration of the event solves for them
again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bondgraph.assembly.system import LoweredTransition
from bondgraph.export.code.content import Content, transition_text
from bondgraph.export.code.modelica.expressions import RoutineText
from bondgraph.export.code.modelica.words import text
from bondgraph.tape import opcodes as op
from bondgraph.tape.routine import Listing, reached
from bondgraph.tracing.events.time_events import breaks_of


@dataclass
class Variables:
    """Names of the model: parameters and values derived from them, states, modes; and the indices of sampled states that
    change, and of unknowns that are solved for again at events."""

    p: list[str]
    x: list[str]
    m: list[str]
    discrete: frozenset[int]
    unknowns: frozenset[int]

    def blocks(self, assigned: frozenset[int] = frozenset(), before: bool = False) -> list[list[str]]:
        x = [f"pre({name})" if k in assigned else name for k, name in enumerate(self.x)]
        return [["time"], x, self.p, [f"pre({name})" for name in self.m] if before else self.m]


@dataclass
class WhenBranch:
    """Branch of a `when`.

    Parameters
    ----------
    condition : condition of the `when`; for a transition or a single tick, the name of a Boolean.
    owner : automaton or block.
    fires : value of this Boolean; "" for a clock.
    meaning : description of this Boolean.
    assigned, reinitialised : new value of each variable.
    ends : message if it ends a run.
    stays : True if the condition may stay true.
    """

    condition: str
    owner: str
    fires: str = ""
    meaning: str = ""
    assigned: dict[str, str] = field(default_factory=dict)
    reinitialised: dict[str, str] = field(default_factory=dict)
    ends: str = ""
    stays: bool = False

    @property
    def touched(self) -> set[str]:
        """Variables for which only one chain may have an equation."""
        return {*self.assigned, *self.reinitialised}


@dataclass
class Clauses:
    declarations: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)


def reset_unknowns(content: Content) -> frozenset[int]:
    """Return the indices of the states that are the unknowns of nonlinear loops, if they jump during a run: at ticks, at time
    events, or when a transition resets states. Otherwise the rates of these states make them follow the solution, as in
    `simulate`."""
    events = content.system.events
    jumps = any(_differences(content.resets[k]) for k in content.resets if not is_end(events[k]))
    if not (content.ticks or jumps or breaks_of(content.system) is not None):
        return frozenset()
    guesses = {name for loop, _ in content.loops for name in loop.guesses}
    return frozenset(i for entry in content.x if entry.name in guesses for i in entry.indices)


def changes(content: Content, k: int) -> list[int]:
    return _changed(content, content.resets[k]) if k in content.resets else []


def tick_changes(content: Content, k: int) -> list[int]:
    return _changed(content, content.ticks[k].routine)


def _changed(content: Content, code: Listing) -> list[int]:
    unknowns = reset_unknowns(content)
    return [i for i in _differences(code) if i not in unknowns]


def _differences(code: Listing) -> list[int]:
    return [i for i, output in enumerate(code.outputs) if code.steps[output] != (op.INPUT, 1, i)]


def is_end(event: LoweredTransition) -> bool:
    return event.error is not None or event.added_by_tracing


BEGUN = '  discrete Boolean begun(start = false, fixed = true) "true after the event at the start";'
BEGIN = ("  when sample(0.0, 1e9) then", "    begun = true;", "  end when;")


def clauses(content: Content, names: Variables, order: Sequence[int]) -> Clauses:
    result = Clauses()
    branches = dict(_transitions(content, names, result.declarations))
    transitions = [branches[k] for k in order if k in branches]
    ticks = list(_ticks(content, names, result.declarations))
    if any(branch.fires for branch in (*transitions, *ticks)):
        result.declarations.insert(0, BEGUN)
        result.equations += BEGIN
    result.declarations += _firings(transitions, [branch for branch in ticks if branch.fires])
    for chain in _chains([*transitions, *ticks]):
        result.equations += _chain_text(chain)
    return result


def _transitions(content: Content, names: Variables, lines: list[str]) -> Iterator[tuple[int, WhenBranch]]:
    events = content.system.events
    if not events:
        return
    by_events = frozenset(i for k in range(len(events)) for i in changes(content, k)) & names.discrete
    blocks = names.blocks(by_events, before=True)
    code = content.routines["guards"]
    parts = [_condition(code, output) for output in code.outputs]
    guards = RoutineText(Listing(code.steps, tuple(a for part in parts for a in part)), blocks, "g")
    lines += guards.lines
    for k, (event, part) in enumerate(zip(events, parts, strict=True)):
        if not part:
            continue
        *conditions, guard = part
        allowed = guards.truth(conditions[0]) if conditions else f"pre({names.m[event.slot]}) == {event.source}"
        relation = ">=" if _is_instant(code, guard, names.discrete) else ">"
        fires = f"begun and {allowed} and {guards.number(guard)} {relation} 0.0"
        branch = WhenBranch(f"fires{k}", event.automaton, fires, transition_text(content.system, event))
        branch.stays = is_end(event) or event.source == event.target
        if is_end(event):
            branch.ends = event.error or f"{event.automaton}: {event.kind}"
        else:
            branch.assigned[names.m[event.slot]] = str(event.target)
            if k in content.resets:
                _fill(branch, content.resets[k], changes(content, k), names, blocks, f"r{k}_", lines)
        yield k, branch


def _condition(code: Listing, output: int) -> tuple[int, ...]:
    """Return the steps of the condition under which a guard is active, if any, and of the guard itself; empty if it never
    fires."""
    kind, *arguments = code.steps[output]
    if kind == op.CONSTANT:
        return ()  # -1
    return tuple(arguments[:2]) if kind == op.WHERE else (output,)


def _is_instant(code: Listing, guard: int, held: frozenset[int]) -> bool:
    """Return True for the guard "time - instant" if the instant does not move between events.

    It fires at this instant, as in `simulate`, so a simultaneous tick comes after it.
    """
    kind, *operands = code.steps[guard]
    if kind != op.SUBTRACT or code.steps[operands[0]] != (op.INPUT, 0, 0):
        return False
    needed = (code.steps[k] for k in reached(code.steps, operands[1:]))
    inputs = [step for step in needed if step[0] in op.OF_BLOCKS]
    return all(step[1] != 0 and (step[1] != 1 or step[2] in held) for step in inputs)


def _ticks(content: Content, names: Variables, lines: list[str]) -> Iterator[WhenBranch]:
    set_by = [set(tick_changes(content, k)) for k in range(len(content.ticks))]
    for k, tick in enumerate(content.ticks):
        later = frozenset().union(*set_by[k:]) & names.discrete
        offset = names.p[tick.offset]
        if tick.period is None:
            branch = WhenBranch(f"ticks{k}", tick.element, f"begun and time >= {offset}", f"tick of {tick.element}")
        else:  # `sample` must be in the `when` itself
            branch = WhenBranch(f"sample({offset}, {names.p[tick.period]})", tick.element)
        _fill(branch, tick.routine, tick_changes(content, k), names, names.blocks(later, before=True), f"t{k}_", lines)
        yield branch


def _fill(
    branch: WhenBranch,
    code: Listing,
    changed: Sequence[int],
    names: Variables,
    blocks: list[list[str]],
    prefix: str,
    lines: list[str],
) -> None:
    """Add to a branch the values that a routine sets.

    Tools carry out one `reinit` after another, and some tools do not let a clock read states that another clock sets. So
    expressions with such states become separate variables, which are evaluated before all assignments. An expression that is
    just a state is read with `pre`, because tools would replace its variable by the state.
    """
    t, x, p, m = blocks
    jumping = {i for i in changed if i not in names.discrete}
    apart = (jumping if len(jumping) > 1 else set()) | {i for i in names.discrete if x[i] == names.x[i]}
    marked = [f"\0{name}\0" if i in apart else name for i, name in enumerate(x)]
    after = RoutineText(Listing(code.steps, tuple(code.outputs[i] for i in changed)), [t, marked, p, m], prefix)
    lines += [line.replace("\0", "") for line in after.lines]
    for i, value in zip(changed, after.results, strict=True):
        if value in {marked[k] for k in jumping & apart}:
            value = f"pre({value})"
        elif "\0" in value:
            lines.append(f"  Real {prefix}x{i} = {value};".replace("\0", ""))
            value = f"{prefix}x{i}"
        where = branch.reinitialised if i in jumping else branch.assigned
        where[names.x[i]] = value.replace("\0", "")


def _chains(branches: Sequence[WhenBranch]) -> list[list[WhenBranch]]:
    chains: list[list[WhenBranch]] = []
    for branch in branches:
        near = [chain for chain in chains if any(branch.touched & other.touched for other in chain)]
        chains = [chain for chain in chains if chain not in near]
        chains.append([*(other for chain in near for other in chain), branch])
    return chains


def _firings(transitions: Sequence[WhenBranch], ticks: Sequence[WhenBranch]) -> Iterator[str]:
    """Yield declarations of the conditions of ticks, then of transitions; a transition fires only if no transition of an
    earlier automaton does."""
    wait, groups = "", [list(group) for _, group in itertools.groupby(transitions, lambda branch: branch.owner)]
    for number, group in enumerate([list(ticks), *groups]):
        for branch in group:
            yield f"  Boolean {branch.condition} = {branch.fires}{wait} {text(branch.meaning)};"
        if 0 < number < len(groups):
            before = [f"moves{number - 1}"] * (number > 1)
            moves = (f"edge({branch.condition})" if branch.stays else branch.condition for branch in group)
            yield f"  Boolean moves{number} = {' or '.join([*before, *moves])};"
            wait = f" and not moves{number}"


def _chain_text(chain: Sequence[WhenBranch]) -> list[str]:
    lines: list[str] = []
    assigned = sorted({name for branch in chain for name in branch.assigned})
    for k, branch in enumerate(chain):
        lines.append(f"  {'elsewhen' if k else 'when'} {branch.condition} then")
        lines += [f"    {name} = {branch.assigned.get(name, f'pre({name})')};" for name in assigned]
        lines += [f"    reinit({name}, {value});" for name, value in branch.reinitialised.items()]
        if branch.ends:
            lines.append(f"    terminate({text(branch.ends)});")
    lines.append("  end when;")
    return lines
