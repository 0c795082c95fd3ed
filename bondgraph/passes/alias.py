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
    for s in system.statements:
        outs = tuple([get(out, out) for out in s.outs])
        if outs not in statements:
            statements[outs] = Statement(outs, s.op, tuple([get(arg, arg) for arg in s.args]), s.element)
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
    free = bytearray(b"\1") * len(names)
    for fixed in ([s.name for s in system.states], system.parameters, system.modes, ("time",)):
        for name in fixed:
            free[number[name]] = 0
    ranks = [  # how a name is preferred: the lowest stays, of equal ones the first in the alphabet
        (4 * own + 2 * (not value.symbol) + (":" in name or name[-1] == "'")) * _LONGEST + len(name)
        for name, value, own in zip(names, system.values.values(), free, strict=True)
    ]
    parent = list(range(len(names)))

    def root_of(place: int) -> int:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    gone = []
    for one, other in system.same:
        a, b = root_of(number[one]), root_of(number[other])
        if a != b:
            above, below = ranks[a], ranks[b]
            keep, drop = (a, b) if above < below or (above == below and names[a] < names[b]) else (b, a)
            parent[drop] = keep
            gone.append(drop)
    return {names[place]: names[root_of(place)] for place in gone}


_LONGEST = 2**32
"""More characters than a name has."""


def _negatives(system: System, kept: Mapping[str, str]) -> Names:
    """Minus a bond's variable, by the name that is left of that variable, so that equal ones become one."""
    found = {}
    for s in system.statements:
        if s.op is NEGATE and s.outs[0].startswith("-"):
            root = kept.get(s.outs[0], s.outs[0])
            if root.startswith("-"):
                found[root] = f"-{kept.get(s.args[0], s.args[0])}"
    return found
