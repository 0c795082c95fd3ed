"""Bond-graph elements: functions that return a frozen `Element` with its law and ports, from the user's numbers and formulas."""

from bondgraph.elements.blocks import Block
from bondgraph.elements.chemistry import Ce, Re
from bondgraph.elements.friction import Friction
from bondgraph.elements.inertial import IC
from bondgraph.elements.junctions import J0, J1, X0, X1
from bondgraph.elements.one_ports import Constraint, EulerJunction, R, Se, Sf
from bondgraph.elements.storages import C, I
from bondgraph.elements.switches import Diode, Switch
from bondgraph.elements.two_ports import GY, MGY, MTF, TF
from bondgraph.model.element import Element, Port, PortRef

__all__ = ["C", "Ce", "I", "IC", "R", "Re", "Se", "Sf", "TF", "GY", "MTF", "MGY", "EulerJunction", "J0", "J1", "X0", "X1"]
__all__ += ["Constraint", "Diode", "Friction", "Switch", "Block", "Element", "Port", "PortRef"]
