"""The elements of the language, each a function that returns one frozen `Element`, ready to be connected in a graph."""

from bondgraph.graph.blocks import Block
from bondgraph.graph.chemistry import Ce, Re
from bondgraph.graph.element import Element, Port, PortRef
from bondgraph.graph.inertial import IC
from bondgraph.graph.junctions import J0, J1, X0, X1
from bondgraph.graph.one_ports import Constraint, EulerJunction, R, Se, Sf
from bondgraph.graph.storages import C, I
from bondgraph.graph.switches import Diode, Friction, Switch
from bondgraph.graph.two_ports import GY, MGY, MTF, TF

__all__ = [
    "GY", "IC", "J0", "J1", "MGY", "MTF", "TF", "X0", "X1", "Block", "C", "Ce", "Constraint", "Diode", "Element",
    "EulerJunction", "Friction", "I", "Port", "PortRef", "R", "Re", "Se", "Sf", "Switch",
]  # fmt: skip
