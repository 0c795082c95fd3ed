"""Circuits of SPICE netlists as bond graphs."""

from screwbond.models.netlist.circuit import parse_netlist, read_netlist

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["parse_netlist", "read_netlist"]

check_calls(__name__)
answer_old_names(__name__)
