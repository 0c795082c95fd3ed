"""Checks of a flat model before causality: find all its problems at once, each with the user's source line."""

from __future__ import annotations

from collections.abc import Collection

from bondgraph.checks.parameters import (
    check_energies,
    check_kinetic_energies,
    check_numbers,
    check_passive,
    check_ranges,
    check_sizes,
    check_units,
)
from bondgraph.checks.structure import (
    check_automata,
    check_blocks,
    check_impacts,
    check_junctions,
    check_parts,
    check_resets,
    check_switches,
    check_values_by_mode,
)
from bondgraph.errors import Problem
from bondgraph.model.model import Model


def check_model(model: Model, reported: Collection[str] = ()) -> list[Problem]:
    """Return all problems of the model; checks that would only repeat problems with `reported` codes are skipped."""
    return [
        problem for check, skipped_after in CHECKS for problem in (check(model) if skipped_after.isdisjoint(reported) else ())
    ]


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
"""Checks in the order of their report, each with the codes of problems that it would only repeat."""
