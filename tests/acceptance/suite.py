"""The acceptance suite: the cases of all subjects in one table."""

from __future__ import annotations

from tests.acceptance import chemistry, circuits, mechanics, refusals, switching

SUITE = circuits.ENTRIES | mechanics.ENTRIES | chemistry.ENTRIES | switching.ENTRIES | refusals.ENTRIES
