"""Circuits of SPICE netlists as bond graphs."""

from screwbond.models.netlist.circuit import parse_netlist, read_netlist

from screws.calls import check_calls

__all__ = ["parse_netlist", "read_netlist"]

check_calls(__name__)
