"""Alias removal: System -> System in which every value has one name; every further name goes into `aliases`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bondgraph.assembly.system import Power, State, Statement, System
from bondgraph.model.ops import NEGATE

Names = dict[str, str]
"""A name -> the one that stands for it; what stands for itself is left out."""


def remove_aliases(system: System) -> System:
    """Merge the names that are those of one value.

    The name that stays is the one that is fixed from outside (a state, parameter, mode), else one with a symbol, else the
    most user-like: without the colon that marks a bond's variable, and short.
    """
    kept = _merged(system)
    negatives = _negatives(system, kept)
    merged = {name: negatives.get(root, root) for name, root in kept.items()} if negatives else kept
    final = {**merged, **negatives} if negatives else merged
    get = final.get
    statements: dict[tuple[str, ...], Statement] = {}
    for given, op, args, element in system.statements:
        outs = tuple(map(get, given, given))
        if outs not in statements:
            statements[outs] = Statement(outs, op, tuple(map(get, args, args)), element)
    values = {name: value for name, value in system.values.items() if name not in final}
    values |= {negative: system.values[name] for name, negative in negatives.items()}

    def both(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        return tuple((get(one, one), get(other, other)) for one, other in pairs)

    return replace(
        system,
        statements=tuple(statements.values()),
        same=(),
        values=values,
        states=tuple([State(s.name, s.initial, s.nominal, get(s.rate, s.rate), s.spread, s.held) for s in system.states]),
        events=tuple(replace(e, guard=get(e.guard, e.guard), resets=both(e.resets)) for e in system.events),
        energies=tuple([(path, get(value, value)) for path, value in system.energies]),
        powers=tuple([Power(p.element, final[p.value], p.role) if p.value in final else p for p in system.powers]),
        clocks=tuple(replace(c, updates=both(c.updates)) for c in system.clocks),
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


def _merged(system: System) -> Names:
    """Every name that does not stay, in the order in which they go, and the one that stays in its place."""
    names = list(system.values)
    number = dict(zip(names, range(len(names)), strict=True))
    free = [FREE] * len(names)
    for fixed in ([s.name for s in system.states], system.parameters, system.modes, ("time",)):
        for name in fixed:
            free[number[name]] = 0
    ranks = [  # how a name is preferred: the lowest stays, of equal ones the first in the alphabet
        (own if value.symbol else own + UNSIGNED) + (MARKED if ":" in name or name[-1] == "'" else 0) + len(name)
        for name, value, own in zip(names, system.values.values(), free, strict=True)
    ]
    parent = list(range(len(names)))
    gone = []
    for one, other in system.same:
        a, b = number[one], number[other]
        while (above := parent[a]) != a:
            parent[a] = a = parent[above]
        while (above := parent[b]) != b:
            parent[b] = b = parent[above]
        if a != b:
            keep, drop = (a, b) if (ranks[a], names[a]) < (ranks[b], names[b]) else (b, a)
            parent[drop] = keep
            gone.append(drop)
    for place in reversed(gone):  # what is above it went later, and knows already who stays
        parent[place] = parent[parent[place]]
    return {names[place]: names[parent[place]] for place in gone}


MARKED, UNSIGNED, FREE = 2**26, 2**27, 2**28
"""What a name counts that is marked, has no symbol, is not fixed from outside; none has so many characters."""


def _negatives(system: System, kept: Mapping[str, str]) -> Names:
    """Minus a bond's variable, by the name that is left of that variable, so that equal ones become one."""
    found = {}
    for s in system.statements:
        if s.op is NEGATE and s.outs[0].startswith("-"):
            root = kept.get(s.outs[0], s.outs[0])
            if root.startswith("-"):
                found[root] = f"-{kept.get(s.args[0], s.args[0])}"
    return found
