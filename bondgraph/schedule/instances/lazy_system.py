"""Lazy system of a large model of identical parts: numbered statements without a name for every value.

Names, for a table of results, a report or an export, are computed by `assemble` and the passes at their first use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

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
from bondgraph.model.ops import IDENTITY, Op
from bondgraph.output.lazy import LazyRow, LazyTable
from bondgraph.passes.aliases import remove_aliases
from bondgraph.passes.sorting import sort_statements
from bondgraph.schedule.calls import ValueTable
from bondgraph.schedule.instances.instances import Instances, instances
from bondgraph.schedule.instances.sorting import SortedInstances, sorted_instances
from bondgraph.schedule.size import KindOfStatement, loops_are_better
from bondgraph.schedule.statements import MAX_PREPARED_DEPTH, StatementTable
from bondgraph.tape.garbage_collection import paused_collection


def statement_table(patterns: Instances, ordered: SortedInstances) -> tuple[np.ndarray, StatementTable]:
    """Return the number of each value of the instances, and numbered statements as `numbered` makes them, without names."""
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
    """Return the depth in statements of each value that depends on parameters only; -1 for all others."""
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
    """Return system and numbered statements of a large model of identical parts, None for other models.

    Raises `ModelError` E155. All other problems are left to the stages that work by name: None.
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
    """Return True if an operation maps this number of scalars to one scalar."""
    op, arguments = case
    try:
        with np.errstate(all="ignore"):
            return isinstance(op.function(*[np.float64(0.5)] * arguments), float)
    except Exception:  # `find_shapes` reports a formula that fails
        return False


def _kinds(ordered: SortedInstances) -> Counter[KindOfStatement]:
    """Count the statements of each kind."""
    ops: dict[object, Op] = {}
    kinds: Counter[KindOfStatement] = Counter()
    for column in ordered.columns:
        op = ops.setdefault(formula_key(column.op), column.op)
        kinds[op, ((),) * column.args.shape[1], column.outs.shape[1]] += len(column.numbers)
    return kinds


def _system(
    patterns: Instances, ordered: SortedInstances, unsorted_system: Callable[[], System], sorted_system: Callable[[], System]
) -> tuple[System, dict[str, int]]:
    """Return the system with lazy statements, values and aliases; and its values with a name already, by name."""
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
    """Return the numbers of values by name, as in `statement_table`."""
    outs = [out for statement in system.statements for out in statement.outs]
    names = ["time", *(state.name for state in system.states), *system.parameters, *outs]
    return dict(zip(names, range(len(names)), strict=True))
