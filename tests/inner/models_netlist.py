"""Internal names of `screwbond.models.netlist` that tests use."""

# ruff: noqa: F401

from screwbond.models.netlist.cards import Card, Scope
