"""Lazy system of a large model of identical parts: its statements are numbered; `assemble` and the passes compute their names
at the first use.

Alias removal and sorting of instances, in arrays, are equivalent to `remove_aliases`, `refuse_undefined_values` and
`sort_statements` by name, for models without algebraic loops or errors; all other models are left to those functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bondgraph.assembly.assemble import assemble
from bondgraph.assembly.formula_keys import formula_key
from bondgraph.assembly.patterns import state_of
from bondgraph.assembly.system import Power, System
from bondgraph.causality.assign import Causality
from bondgraph.checks.relations import contradictions
from bondgraph.emit.cached_build import build_once
from bondgraph.errors import raise_if_any
from bondgraph.model.model import Model
from bondgraph.model.ops import IDENTITY, NEGATE, Op
from bondgraph.output.lazy import LazyRow, LazyTable
from bondgraph.passes.aliases import FREE_PENALTY, MARK_PENALTY, NO_SYMBOL_PENALTY, remove_aliases
from bondgraph.passes.repeatability import is_repeatable, is_users
from bondgraph.passes.sorting import evaluation_order, sort_statements
from bondgraph.schedule.calls import MAX_PREPARED_DEPTH, StatementTable, ValueTable
from bondgraph.schedule.instances.instances import Instances, StatementInstances, instances
from bondgraph.schedule.kernels import KindOfStatement, loops_are_better
from bondgraph.tape.garbage_collection import paused_collection


@dataclass(frozen=True, eq=False)
class SortedInstances:
    """Statements in an order of evaluation, over values without aliases."""

    roots: np.ndarray
    negatives: Mapping[int, int]
    columns: tuple[StatementInstances, ...]
    """All statements without duplicates; `numbers` are their positions in the order."""


def sorted_instances(patterns: Instances) -> SortedInstances | None:
    """Remove aliases and sort statements; return None for systems that only the passes by name can treat or refuse."""
    roots = _merge(patterns)
    columns = [replace(c, outs=roots[c.outs], args=roots[c.args]) for c in patterns.columns()]
    negatives = _negatives(patterns, roots)
    if negatives is None:
        return None
    first = _first_negatives(negatives, patterns.values)
    columns = [_without_duplicates(replace(c, outs=first[c.outs], args=first[c.args]), c.outs) for c in columns]
    columns = [column for column in columns if len(column.numbers)]
    roots = first[roots]
    producer = _producers(patterns, columns)
    order = None if producer is None else evaluation_order(_dependencies(columns, producer, patterns.statements))
    if order is None:
        return None
    of = dict(zip(*negatives.T.tolist(), strict=True)) if len(negatives) else {}
    return SortedInstances(roots, of, _in_order(columns, order))


def _merge(patterns: Instances) -> np.ndarray:
    one, other = patterns.equal_values().T
    group = np.arange(patterns.values)
    while True:
        low, high = np.minimum(group[one], group[other]), np.maximum(group[one], group[other])
        if np.array_equal(low, high):
            break
        np.minimum.at(group, high, low)
        while not np.array_equal(above := group[group], group):
            group = above
    ranks = _ranks(patterns)
    members = np.unique(np.concatenate([one, other]))
    members = members[np.lexsort((ranks[members], group[members]))]
    best: dict[int, int] = {}
    tied: dict[int, list[int]] = {}
    lowest = np.full(patterns.values, np.iinfo(int).max)
    np.minimum.at(lowest, group[members], ranks[members])
    for value in members[ranks[members] == lowest[group[members]]].tolist():
        key = int(group[value])
        if key in best:
            tied.setdefault(key, [best[key]]).append(value)
        else:
            best[key] = value
    best |= {key: min(values, key=patterns.name) for key, values in tied.items()}
    roots = np.arange(patterns.values)
    heads = np.arange(patterns.values)
    heads[list(best)] = list(best.values())
    roots[members] = heads[group[members]]
    return roots


def _ranks(patterns: Instances) -> np.ndarray:
    """Return the rank of each name, as in `remove_aliases`: among equal values the name of lowest rank is kept."""
    bonds = np.array([len(bond.name) for bond in patterns.model.bonds], dtype=int)
    paths = np.array([len(path) for path in patterns.paths], dtype=int)
    ranks = np.empty(patterns.values, dtype=int)
    ranks[0] = len("time")
    variables = ranks[1 : patterns.starts[0]].reshape(-1, 2)
    variables[:] = FREE_PENALTY + NO_SYMBOL_PENALTY + MARK_PENALTY + bonds[:, None] + [len(":effort"), len(":flow")]
    for kind in patterns.kinds:
        pattern = kind.pattern
        fixed = {*(state for state, *_ in pattern.states), *pattern.parameters}
        for position, (text, mark, value) in enumerate(zip(pattern.texts, pattern.marks, pattern.values, strict=True)):
            marked = ":" in text or text[-1] == "'"
            penalty = (
                (0 if position in fixed else FREE_PENALTY)
                + (0 if value.symbol else NO_SYMBOL_PENALTY)
                + (MARK_PENALTY if marked else 0)
            )
            length = paths[kind.elements] if mark == 0 else bonds[kind.bonds[:, mark - 1]]
            ranks[kind.rows[:, position]] = penalty + len(text % "") + length
    return ranks


def _negatives(patterns: Instances, roots: np.ndarray) -> np.ndarray | None:
    """Return pairs (k, 2) of a value named "-x" and the value x that it negates, in the order of their statements, or None if two
    of these negatives are the same value."""
    columns = [column for column in patterns.columns() if column.op is NEGATE and column.negative]
    if not columns:
        return np.zeros((0, 2), dtype=int)
    outs, of = np.concatenate([np.hstack([c.outs, roots[c.args]]) for c in columns]).T
    order = np.argsort(np.concatenate([c.numbers for c in columns]))
    outs, of = outs[order], of[order]
    named = roots[outs] == outs
    return None if np.isin(roots[outs[~named]], outs).any() else np.stack([outs[named], of[named]], axis=1)


def _first_negatives(negatives: np.ndarray, count: int) -> np.ndarray:
    outs, of = negatives.T
    _, first, inverse = np.unique(of, return_index=True, return_inverse=True)
    mapped = np.arange(count)
    mapped[outs] = outs[first][inverse]
    return mapped


def _without_duplicates(column: StatementInstances, outs: np.ndarray) -> StatementInstances:
    unchanged = (column.outs == outs).all(axis=1)
    if unchanged.all():
        return column
    return replace(column, numbers=column.numbers[unchanged], outs=column.outs[unchanged], args=column.args[unchanged])


def _producers(patterns: Instances, columns: Sequence[StatementInstances]) -> np.ndarray | None:
    """Return the statement that computes each value, -1 if there is none; return None if two statements compute one value, or an
    argument has no producer."""
    producer = np.full(patterns.values, -1)
    for column in columns:
        producer[column.outs] = column.numbers[:, None]
    defined = producer >= 0
    if np.count_nonzero(defined) != sum(column.outs.size for column in columns):
        return None
    defined[0] = defined[patterns.states] = defined[patterns.parameters] = True
    return producer if all(defined[column.args].all() for column in columns) else None


def _in_order(columns: Sequence[StatementInstances], order: Sequence[int]) -> tuple[StatementInstances, ...]:
    written = np.zeros(len(order), dtype=bool)
    for column in columns:
        written[column.numbers] = True
    kept = np.array(order, dtype=int)
    kept = kept[written[kept]]
    positions = np.empty(len(order), dtype=int)
    positions[kept] = np.arange(len(kept))
    return tuple(replace(column, numbers=positions[column.numbers]) for column in columns)


def _dependencies(columns: Sequence[StatementInstances], producer: np.ndarray, count: int) -> list[Sequence[int]]:
    needs: list[Sequence[int]] = [()] * count
    for column in columns:
        before = producer[column.args]
        for number, row in zip(column.numbers.tolist(), before.tolist(), strict=True):
            needs[number] = row if -1 not in row else [index for index in row if index >= 0]
    return needs


def statement_table(patterns: Instances, ordered: SortedInstances) -> tuple[np.ndarray, StatementTable]:
    """Return the number of each value of the instances, and statements as `number_statements` makes them, without names."""
    states, parameters = patterns.states, patterns.parameters
    number = np.full(patterns.values, -1)
    number[[0, *states, *parameters]] = np.arange(1 + len(states) + len(parameters))
    level = _levels(ordered, parameters)
    first, count = 1 + len(states) + len(parameters), sum(len(column.numbers) for column in ordered.columns)
    fixed = np.zeros(first + count, dtype=bool)
    fixed[1 + len(states) : first] = True
    for column in ordered.columns:
        number[column.outs] = first + column.numbers[:, None]
        fixed[number[column.outs]] = level[column.outs] > 0
    number = number[ordered.roots]
    args: list[tuple[int, ...]] = [()] * count
    formulas = [0] * count
    keys: dict[object, int] = {formula_key(IDENTITY): 0}
    ops = [IDENTITY]
    for column in sorted(ordered.columns, key=lambda c: int(c.numbers.min())):
        formula = keys.setdefault(formula_key(column.op), len(keys))
        if formula == len(ops):
            ops.append(column.op)
        for index, row in zip(column.numbers.tolist(), map(tuple, number[column.args].tolist()), strict=True):
            args[index], formulas[index] = row, formula
    book = ValueTable([1] * (first + count), {}, fixed.tolist())
    book.locations[0] = ("t", 0)
    book.locations |= {1 + k: ("x", k) for k in range(len(states))}
    book.locations |= {1 + len(states) + k: ("p", k) for k in range(len(parameters))}
    values = range(first, first + count)
    producer = dict(zip(values, range(count), strict=True))
    shapes: dict[int, tuple[int, ...]] = dict.fromkeys(range(first + count), ())
    return number, StatementTable({}, shapes, args, [(value,) for value in values], formulas, ops, producer, book)


def _levels(ordered: SortedInstances, parameters: np.ndarray) -> np.ndarray:
    """Return the depth in statements of each value that depends on parameters only, or -1 for all other values and beyond
    `MAX_PREPARED_DEPTH`."""
    level = np.full(len(ordered.roots), -1)
    level[parameters] = 0
    changed = True
    while changed:
        changed = False
        for column in ordered.columns:
            before = level[column.args]
            depth = 1 + before.max(axis=1, initial=0)
            depth = np.where((before >= 0).all(axis=1) & (depth < MAX_PREPARED_DEPTH), depth, -1)[:, None]
            changed = changed or bool((level[column.outs] != depth).any())
            level[column.outs] = depth
    return level


def system_of_instances(model: Model, causality: Causality) -> tuple[System, StatementTable] | None:
    """Return the system and numbered statements of a large model of identical parts.

    Returns None for other models, and if the stages that work by name have to report a problem; raises `ModelError` E155.
    """
    patterns = instances(model, causality)
    ordered = None if patterns is None else sorted_instances(patterns)
    if patterns is None or ordered is None or not all(map(_is_scalar, {(c.op, c.args.shape[1]) for c in ordered.columns})):
        return None
    if not loops_are_better(_kinds(ordered)):
        return None
    raise_if_any(model.name, list(contradictions(model, lambda signal: None)))
    unsorted_system = build_once(paused_collection()(lambda: remove_aliases(assemble(model, causality))))
    sorted_system = build_once(paused_collection()(lambda: sort_statements(unsorted_system())))
    system, values = _system(patterns, ordered, unsorted_system, sorted_system)
    numbers, table = statement_table(patterns, ordered)
    computed = dict(zip(values, numbers[list(values.values())].tolist(), strict=True))
    return system, replace(table, numbers=LazyTable(lambda: _numbers(sorted_system()), computed))


def _is_scalar(case: tuple[Op, int]) -> bool:
    """Return True if an operation maps this number of scalars to one scalar, and always to the same scalar."""
    op, arguments = case
    try:
        with np.errstate(all="ignore"):
            is_float = isinstance(op.function(*[np.float64(0.5)] * arguments), float)
    except Exception:  # `find_shapes` reports a formula that fails
        return False
    return is_float and (not is_users(op.function) or is_repeatable(op, ((),) * arguments))  # `unrepeatable_formulas` reports it


def _kinds(ordered: SortedInstances) -> Counter[KindOfStatement]:
    ops: dict[object, Op] = {}
    kinds: Counter[KindOfStatement] = Counter()
    for column in ordered.columns:
        op = ops.setdefault(formula_key(column.op), column.op)
        kinds[op, ((),) * column.args.shape[1], column.outs.shape[1]] += len(column.numbers)
    return kinds


def _system(
    patterns: Instances, ordered: SortedInstances, unsorted_system: Callable[[], System], sorted_system: Callable[[], System]
) -> tuple[System, dict[str, int]]:
    """Return a system with lazy statements, values and aliases, and a mapping from the names used so far to their values."""
    model, roots, by_name = patterns.model, ordered.roots.tolist(), dict[str, int]()

    def name(value: int) -> str:
        value = roots[value]
        of = ordered.negatives.get(value)
        text = patterns.name(value) if of is None else f"-{patterns.name(of)}"
        by_name[text] = value
        return text

    paths, elements = patterns.paths, list(model.elements.values())
    states, energies, powers = [], [], []
    for kind in patterns.kinds:
        for element, row in zip(kind.elements.tolist(), kind.rows.tolist(), strict=True):
            for state, rate, shape, held in kind.pattern.states:
                states.append((element, row[state], row[rate], shape, held))
            energies += [(element, row[value]) for value in kind.pattern.energies]
            powers += [(element, row[value], role) for value, role in kind.pattern.powers]
    by_name["time"] = 0
    values = patterns.parameters.tolist()
    parameters = {
        f"{path}.{key}": np.asarray(parameter.value, dtype=float)
        for path, element in model.elements.items()
        for key, parameter in element.parameters.items()
    }
    by_name.update(zip(parameters, values, strict=True))
    system = System(
        model.name,
        LazyRow(lambda: sorted_system().statements),
        LazyTable(lambda: unsorted_system().values),
        tuple(state_of(elements[of], name(state), name(rate), shape, held) for of, state, rate, shape, held in sorted(states)),
        parameters,
        modes={},
        events=(),
        energies=tuple((paths[of], name(value)) for of, value in sorted(energies)),
        powers=tuple(Power(paths[of], name(value), role) for of, value, role in sorted(powers)),
        starts=model.starts,
        aliases=LazyTable(lambda: unsorted_system().aliases),
    )
    return system, by_name


def _numbers(system: System) -> dict[str, int]:
    outs = [out for statement in system.statements for out in statement.outs]
    names = ["time", *(state.name for state in system.states), *system.parameters, *outs]
    return dict(zip(names, range(len(names)), strict=True))
