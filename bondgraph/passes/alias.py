"""Alias removal: System -> System in which every value has one name; every further name goes into `aliases`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bondgraph.assembly.system import Statement, System
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
    final = {name: negatives.get(root, root) for name, root in kept.items()}
    merged = dict(final)
    final |= negatives
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
        states=tuple([replace(s, rate=final[s.rate]) if s.rate in final else s for s in system.states]),
        events=tuple(replace(e, guard=get(e.guard, e.guard), resets=both(e.resets)) for e in system.events),
        energies=tuple([(path, get(value, value)) for path, value in system.energies]),
        powers=tuple([replace(p, value=final[p.value]) if p.value in final else p for p in system.powers]),
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
    parent: Names = {}
    fixed = {s.name for s in system.states} | set(system.parameters) | set(system.modes) | {"time"}
    ranks = {  # how a name is preferred: the lowest stays, of equal ones the first in the alphabet
        name: (4 * (name not in fixed) + 2 * (not value.symbol) + (":" in name or name[-1] == "'")) * _LONGEST + len(name)
        for name, value in system.values.items()
    }

    def root_of(name: str) -> str:
        root = name
        while root in parent:
            root = parent[root]
        while name != root:
            parent[name], name = root, parent[name]
        return root

    for one, other in system.same:
        a = root_of(one) if one in parent else one
        b = root_of(other) if other in parent else other
        if a != b:
            above, below = ranks[a], ranks[b]
            if above < below or (above == below and a < b):
                parent[b] = a
            else:
                parent[a] = b
    return {name: root_of(name) if root in parent else root for name, root in parent.items()}


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
