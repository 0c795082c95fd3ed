"""Checks of a flat model before causality: find all its problems in one pass, each with the user's source line."""

from __future__ import annotations

from collections.abc import Collection

from bondgraph.checks import heat, parameters, structure
from bondgraph.errors import Problem
from bondgraph.model.model import Model


def check_model(model: Model, reported: Collection[str] = ()) -> list[Problem]:
    return [
        problem for check, skipped_after in CHECKS for problem in (check(model) if skipped_after.isdisjoint(reported) else ())
    ]


_NOTHING: frozenset[str] = frozenset()
_ENDS = frozenset({"E100", "E101", "E103", "E111", "E112", "E126"})
CHECKS = (
    (structure.check_parts, _NOTHING),
    (parameters.check_numbers, _NOTHING),
    (parameters.check_units, _NOTHING),
    (structure.check_junctions, _ENDS),
    (structure.check_switches, frozenset({"E106"})),
    (structure.check_automata, _NOTHING),
    (structure.check_impacts, _NOTHING),
    (structure.check_resets, frozenset({"E106"})),
    (structure.check_blocks, _NOTHING),
    (parameters.check_energies, _NOTHING),
    (parameters.check_ranges, _NOTHING),
    (parameters.check_passive, _ENDS),
    (parameters.check_sizes, _ENDS),
    (parameters.check_kinetic_energies, _NOTHING),
    (structure.check_values_by_mode, frozenset({"E106"})),
    (heat.check_pseudo_bonds, _ENDS | {"E105"}),
    (heat.check_second_law, _ENDS),
    (heat.check_heat_ports, _ENDS | {"E105"}),
)
"""Checks in the order of reporting, each with the codes of the problems that it would only repeat."""
