"""Alias removal: give every value of a system one name; its other names go into `System.aliases`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bondgraph.assembly.system import Power, State, Statement, System
from bondgraph.model.ops import NEGATE

Names = dict[str, str]


def remove_aliases(system: System) -> System:
    """Merge the names of equal values.

    The name to keep is fixed from outside (time, a state, parameter or mode), or else has a symbol, or else is the name that a
    user would write: short, without the colon of a bond's variable or the prime of a rate.
    """
    roots = _merge(system)
    negatives = _negatives(system, roots)
    merged = {name: negatives.get(root, root) for name, root in roots.items()} if negatives else roots
    final = {**merged, **negatives} if negatives else merged
    get = final.get
    statements: dict[tuple[str, ...], Statement] = {}
    for names, op, args, element in system.statements:
        outs = tuple(map(get, names, names))
        if outs not in statements:
            statements[outs] = Statement(outs, op, tuple(map(get, args, args)), element)
    values = {name: value for name, value in system.values.items() if name not in final}
    values |= {negative: system.values[name] for name, negative in negatives.items()}

    def resolved(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        return tuple((get(state, state), get(value, value)) for state, value in pairs)

    return replace(
        system,
        statements=tuple(statements.values()),
        same=(),
        values=values,
        states=tuple([State(s.name, s.initial, s.nominal, get(s.rate, s.rate), s.spread, s.held) for s in system.states]),
        events=tuple(replace(e, guard=get(e.guard, e.guard), resets=resolved(e.resets)) for e in system.events),
        energies=tuple([(path, get(value, value)) for path, value in system.energies]),
        powers=tuple([Power(p.element, final[p.value], p.role) if p.value in final else p for p in system.powers]),
        clocks=tuple(replace(c, updates=resolved(c.updates)) for c in system.clocks),
        aliases=merged | {name: get(target, target) for name, target in system.aliases.items()},
        unknowns=tuple(
            replace(
                u,
                value=get(u.value, u.value),
                residual=get(u.residual, u.residual),
                held=get(u.held, u.held),
                vanishing=get(u.vanishing, u.vanishing),
                stopped=get(u.stopped, u.stopped),
            )
            for u in system.unknowns
        ),
    )


def _merge(system: System) -> Names:
    """Return every dropped name, in the order of dropping, with its replacement (union-find)."""
    names = list(system.values)
    number = dict(zip(names, range(len(names)), strict=True))
    penalties = [FREE_PENALTY] * len(names)
    for fixed in ([s.name for s in system.states], system.parameters, system.modes, ("time",)):
        for name in fixed:
            penalties[number[name]] = 0
    ranks = [  # the name of lowest rank stays; among equal ranks, the first in alphabetical order
        (penalty if value.symbol else penalty + NO_SYMBOL_PENALTY)
        + (MARK_PENALTY if ":" in name or name[-1] == "'" else 0)
        + len(name)
        for name, value, penalty in zip(names, system.values.values(), penalties, strict=True)
    ]
    parent = list(range(len(names)))
    dropped = []
    for one, other in system.same:
        a, b = number[one], number[other]
        while (above := parent[a]) != a:
            parent[a] = a = parent[above]
        while (above := parent[b]) != b:
            parent[b] = b = parent[above]
        if a != b:
            keep, drop = (a, b) if (ranks[a], names[a]) < (ranks[b], names[b]) else (b, a)
            parent[drop] = keep
            dropped.append(drop)
    for index in reversed(dropped):  # its parent was dropped later, and has its final root already
        parent[index] = parent[parent[index]]
    return {names[index]: names[parent[index]] for index in dropped}


MARK_PENALTY, NO_SYMBOL_PENALTY, FREE_PENALTY = 2**26, 2**27, 2**28
"""Ranks added for names with a colon or prime, without a symbol, or not fixed from outside; each exceeds the length of any
name."""


def _negatives(system: System, roots: Mapping[str, str]) -> Names:
    """Name the negative of a bond's variable after the variable's root, so that equal negatives get one name."""
    negatives = {}
    for s in system.statements:
        if s.op is NEGATE and s.outs[0].startswith("-"):
            root = roots.get(s.outs[0], s.outs[0])
            if root.startswith("-"):
                negatives[root] = f"-{roots.get(s.args[0], s.args[0])}"
    return negatives
