"""Alias removal: System -> System without identity statements; every further name goes into `aliases`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from bondgraph.assembly.system import Statement, System
from bondgraph.model.ops import IDENTITY, NEGATE


def remove_aliases(system: System) -> System:
    """Merge names that identity statements make equal.

    The name that stays is the one that is fixed from outside (a state, parameter, mode), else one with a symbol, else the
    most user-like: without the colon that marks a bond's variable, and short.
    """
    parent: dict[str, str] = {}

    def find(name: str) -> str:
        root = name
        while root in parent:
            root = parent[root]
        while name in parent:
            parent[name], name = root, parent[name]
        return root

    fixed = {s.name for s in system.states} | set(system.parameters) | set(system.modes) | {"time"}

    @cache
    def rank(name: str) -> tuple[bool, bool, bool, int, str]:
        """How a name is preferred: the lowest stays."""
        return (name not in fixed, not system.values[name].symbol, ":" in name or name.endswith("'"), len(name), name)

    for statement in system.statements:
        if statement.op is IDENTITY:
            a, b = find(statement.outs[0]), find(statement.args[0])
            if a != b:
                keep, drop = (a, b) if rank(a) < rank(b) else (b, a)
                parent[drop] = keep
    negatives = _negatives(system, find)

    def final(name: str) -> str:
        root = find(name)
        return negatives.get(root, root)

    statements: dict[tuple[str, ...], Statement] = {}
    for s in system.statements:
        if s.op is not IDENTITY:
            outs = tuple(map(final, s.outs))
            statements.setdefault(outs, Statement(outs, s.op, tuple(map(final, s.args)), s.element))
    aliases = {name: final(name) for name in list(parent)}
    aliases |= {name: final(target) for name, target in system.aliases.items()}
    values = {name: value for name, value in system.values.items() if name not in parent and name not in negatives}
    values |= {new: replace(system.values[old], name=new) for old, new in negatives.items()}
    return replace(
        system,
        statements=tuple(statements.values()),
        values=values,
        states=tuple(replace(s, rate=final(s.rate)) for s in system.states),
        events=tuple(
            replace(e, guard=final(e.guard), resets=tuple((final(s), final(v)) for s, v in e.resets)) for e in system.events
        ),
        energies=tuple((path, final(value)) for path, value in system.energies),
        powers=tuple(replace(p, value=final(p.value)) for p in system.powers),
        clocks=tuple(replace(c, updates=tuple((final(s), final(v)) for s, v in c.updates)) for c in system.clocks),
        aliases=aliases,
        unknowns=tuple(
            replace(
                u,
                value=final(u.value),
                residual=final(u.residual),
                held=final(u.held),
                vanishing=final(u.vanishing),
                stopped=final(u.stopped),
            )
            for u in system.unknowns
        ),
    )


def _negatives(system: System, find: Callable[[str], str]) -> dict[str, str]:
    """Minus a bond's variable, by the name that is left of that variable, so that equal ones become one."""
    return {
        root: f"-{find(s.args[0])}"
        for s in system.statements
        if s.op is NEGATE and s.outs[0].startswith("-")
        for root in (find(s.outs[0]),)
        if root.startswith("-")
    }
