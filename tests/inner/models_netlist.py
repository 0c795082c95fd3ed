"""Inner names of `screwbond.models.netlist` that tests look into."""

# ruff: noqa: F401

from screwbond.models.netlist.cards import Card, Scope
