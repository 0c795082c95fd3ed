"""Checks that need no causality: a flat model in; all its problems at once, each with the user's source line, out."""

from __future__ import annotations

from collections.abc import Collection

from bondgraph.checks.numbers import check_energies, check_kinetic_energies, check_numbers, check_sizes
from bondgraph.checks.passive import check_passive
from bondgraph.checks.ranges import check_ranges
from bondgraph.checks.structure import check_blocks, check_junctions, check_parts
from bondgraph.checks.switching import check_automata, check_impacts, check_resets, check_switches, check_values_by_mode
from bondgraph.checks.units import check_units
from bondgraph.errors import Problem
from bondgraph.model.model import Model


def check_model(model: Model, known: Collection[str] = ()) -> list[Problem]:
    """All problems of the model, from every check below.

    `known` are the codes of problems that are known already: checks that would only repeat them are left out.
    """
    return [problem for check, after in CHECKS for problem in (check(model) if after.isdisjoint(known) else ())]


_NOTHING: frozenset[str] = frozenset()
_ENDS = frozenset({"E100", "E101", "E103", "E111", "E112", "E126"})
CHECKS = (
    (check_parts, _NOTHING),
    (check_numbers, _NOTHING),
    (check_units, _NOTHING),
    (check_junctions, _ENDS),
    (check_switches, frozenset({"E106"})),
    (check_automata, _NOTHING),
    (check_impacts, _NOTHING),
    (check_resets, frozenset({"E106"})),
    (check_blocks, _NOTHING),
    (check_energies, _NOTHING),
    (check_ranges, _NOTHING),
    (check_passive, _ENDS),
    (check_sizes, _ENDS),
    (check_kinetic_energies, _NOTHING),
    (check_values_by_mode, frozenset({"E106"})),
)
"""The checks in the order of their report, each with the codes after which it would only repeat what is known."""
