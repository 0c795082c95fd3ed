"""Bond-graph elements: functions that return a frozen `Element` with its law and ports, from the user's numbers and formulas."""

from bondgraph.elements.blocks import Block
from bondgraph.elements.chemistry import Ce, Re
from bondgraph.elements.friction import Friction
from bondgraph.elements.heat import HeatTransfer
from bondgraph.elements.inertial import IC
from bondgraph.elements.junction_structure import GY, J0, J1, MGY, MTF, TF, X0, X1
from bondgraph.elements.one_ports import C, Constraint, Diode, EulerJunction, I, R, Se, Sf, Switch
from bondgraph.model.element import Element, Port, PortRef

__all__ = ["C", "Ce", "I", "IC", "R", "Re", "Se", "Sf", "TF", "GY", "MTF", "MGY", "EulerJunction", "J0", "J1", "X0", "X1"]
__all__ += ["Constraint", "Diode", "Friction", "Switch", "HeatTransfer", "Block", "Element", "Port", "PortRef"]
