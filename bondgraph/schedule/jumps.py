"""Jumps of a few states among all -> plans whose cost is that of the few: the others are copied at one go."""

from __future__ import annotations

from collections.abc import Mapping

from bondgraph.schedule.calls import Plan
from bondgraph.schedule.plans import Found, Workshop, find_each


def jumps(shop: Workshop, changes: Mapping[str, Mapping[int, int]], states: int) -> list[Plan]:
    """By the name of each jump, all states, so many scalars, after some have changed: state -> the value that it then has."""
    parts = find_each(shop, [list(changed.values()) for changed in changes.values()])
    return [_plan(shop, name, part, changes[name], states) for name, part in zip(changes, parts, strict=True)]


def _plan(shop: Workshop, name: str, part: Found, changed: Mapping[int, int], states: int) -> Plan:
    """What is found in a row, where the states that it changes lie."""
    homes, row = dict[int, int](), 0
    for state in changed:
        homes[row] = shop.book.homes[state][1]
        row += shop.book.sizes[state]
    results = {value: homes[place] for value, place in part.results.items()}
    return Plan(name, part.calls, states, results, kept="x")
