"""Alias removal: System -> System without identity statements; every further name goes into `aliases`."""

from __future__ import annotations

from dataclasses import replace

from bondgraph.equations.system import Statement, System
from bondgraph.ops import IDENTITY


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

    def rank(name: str) -> tuple[bool, bool, bool, int, str]:
        """How a name is preferred: the lowest stays."""
        return (name not in fixed, not system.values[name].symbol, ":" in name or name.endswith("'"), len(name), name)

    for statement in system.statements:
        if statement.op is IDENTITY:
            a, b = find(statement.outs[0]), find(statement.args[0])
            if a != b:
                keep, drop = (a, b) if rank(a) < rank(b) else (b, a)
                parent[drop] = keep
    statements = tuple(
        Statement(tuple(map(find, s.outs)), s.op, tuple(map(find, s.args)), s.element)
        for s in system.statements
        if s.op is not IDENTITY
    )
    aliases = {name: find(name) for name in list(parent)}
    aliases |= {name: find(target) for name, target in system.aliases.items()}
    return replace(
        system,
        statements=statements,
        values={name: value for name, value in system.values.items() if name not in parent},
        states=tuple(replace(s, rate=find(s.rate)) for s in system.states),
        events=tuple(
            replace(e, guard=find(e.guard), resets=tuple((find(s), find(v)) for s, v in e.resets)) for e in system.events
        ),
        energies=tuple((path, find(value)) for path, value in system.energies),
        powers=tuple(replace(p, value=find(p.value)) for p in system.powers),
        aliases=aliases,
    )
