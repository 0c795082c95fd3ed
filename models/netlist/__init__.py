"""Circuits of SPICE netlists as bond graphs."""

from screwbond.models.netlist.circuit import parse_netlist, read_netlist

__all__ = ["parse_netlist", "read_netlist"]
