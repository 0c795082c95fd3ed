"""Large models of parts that are alike: model in; its system and its statements by numbers out, without a name for every value.

Whatever asks for names - a table of results, a report, an export - gets them from `assemble` and the passes, when it first does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bondgraph.assembly.assemble import assemble
from bondgraph.assembly.identity import formula_key
from bondgraph.assembly.patterns import state_of
from bondgraph.assembly.system import Power, System
from bondgraph.causality.assign import Causality
from bondgraph.checks.relations import contradictions
from bondgraph.emit.cached_build import build_once
from bondgraph.errors import raise_if_any
from bondgraph.model.model import Model
from bondgraph.model.ops import Op
from bondgraph.output.lazy import LateRow, LateTable
from bondgraph.passes.alias import remove_aliases
from bondgraph.passes.sort import sort_statements
from bondgraph.schedule.instances.instances import Instances, instances
from bondgraph.schedule.instances.sorting import SortedInstances, sorted_instances
from bondgraph.schedule.instances.table import tabled
from bondgraph.schedule.size import KindOfStatement, loops_are_better
from bondgraph.schedule.statements import StatementTable
from bondgraph.tape.collection import paused_collection


def alike_parts(model: Model, causality: Causality) -> tuple[System, StatementTable] | None:
    """System and statements of a large model of parts that are alike, None for all others.

    Raises `ModelError` E155. All other problems are left to the stages that go by names: None.
    """
    given = instances(model, causality)
    found = None if given is None else sorted_instances(given)
    if given is None or found is None or not all(map(_is_scalar, {(c.op, c.args.shape[1]) for c in found.columns})):
        return None
    if not loops_are_better(_kinds(found)):
        return None
    raise_if_any(model.name, list(contradictions(model, lambda signal: None)))
    whole = build_once(paused_collection()(lambda: remove_aliases(assemble(model, causality))))
    in_order = build_once(paused_collection()(lambda: sort_statements(whole())))
    system, values = _system(given, found, whole, in_order)
    numbers, table = tabled(given, found)
    told = dict(zip(values, numbers[list(values.values())].tolist(), strict=True))
    return system, replace(table, numbers=LateTable(lambda: _numbers(in_order()), told))


def _is_scalar(case: tuple[Op, int]) -> bool:
    """Whether an operation gives one scalar of so many."""
    op, arguments = case
    try:
        with np.errstate(all="ignore"):
            return isinstance(op.function(*[np.float64(0.5)] * arguments), float)
    except Exception:  # `find_shapes` says what is wrong with a formula that fails, and where
        return False


def _kinds(found: SortedInstances) -> Counter[KindOfStatement]:
    """Statements of each kind."""
    ops: dict[object, Op] = {}
    kinds: Counter[KindOfStatement] = Counter()
    for column in found.columns:
        op = ops.setdefault(formula_key(column.op), column.op)
        kinds[op, ((),) * column.args.shape[1], column.outs.shape[1]] += len(column.numbers)
    return kinds


def _system(
    given: Instances, found: SortedInstances, whole: Callable[[], System], in_order: Callable[[], System]
) -> tuple[System, dict[str, int]]:
    """The system, of which statements (`in_order`), values and aliases (of the `whole`) are late; and the values whose names are
    known, by these."""
    model, stands, told = given.model, found.stands.tolist(), dict[str, int]()

    def name(value: int) -> str:
        value = stands[value]
        of = found.negatives.get(value)
        said = given.name(value) if of is None else f"-{given.name(of)}"
        told[said] = value
        return said

    paths, elements = given.paths, list(model.elements.values())
    states, energies, powers = [], [], []
    for kind in given.kinds:
        for element, row in zip(kind.elements.tolist(), kind.rows.tolist(), strict=True):
            for state, rate, shape, held in kind.pattern.states:
                states.append((element, row[state], row[rate], shape, held))
            energies += [(element, row[value]) for value in kind.pattern.energies]
            powers += [(element, row[value], role) for value, role in kind.pattern.powers]
    told["time"] = 0
    values = given.parameters.tolist()
    parameters = {
        f"{path}.{own}": np.asarray(parameter.value, dtype=float)
        for path, element in model.elements.items()
        for own, parameter in element.parameters.items()
    }
    told.update(zip(parameters, values, strict=True))
    system = System(
        model.name,
        LateRow(lambda: in_order().statements),
        LateTable(lambda: whole().values),
        tuple(state_of(elements[of], name(own), name(rate), shape, held) for of, own, rate, shape, held in sorted(states)),
        parameters,
        modes={},
        events=(),
        energies=tuple((paths[of], name(value)) for of, value in sorted(energies)),
        powers=tuple(Power(paths[of], name(value), role) for of, value, role in sorted(powers)),
        starts=model.starts,
        aliases=LateTable(lambda: whole().aliases),
    )
    return system, told


def _numbers(system: System) -> dict[str, int]:
    """Name -> number of a value, as `tabled` counts them."""
    outs = [out for statement in system.statements for out in statement.outs]
    names = ["time", *(state.name for state in system.states), *system.parameters, *outs]
    return dict(zip(names, range(len(names)), strict=True))
