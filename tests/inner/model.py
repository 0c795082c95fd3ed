"""Internal names of `bondgraph.model` that tests use."""

# ruff: noqa: F401

from bondgraph.model import domains, laws
from bondgraph.model.arguments import in_unit
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import COEFFICIENTS, DOMAINS, ROTATION, SCREW, TRANSLATION, Domain, motions
from bondgraph.model.element import Element, Port, PortRef, one_port
from bondgraph.model.laws import (
    PORT,
    Action,
    CausalityPreference,
    CausalityRequest,
    IdealConstraint,
    IdealSwitch,
    Junction,
    Law,
    StateSpec,
    Storage,
    Storing,
)
from bondgraph.model.mechanics import Mechanics, gradient, partials
from bondgraph.model.model import ContactPoint, Model, SignalEntry
from bondgraph.model.ops import SOUGHT, TIME_DERIVATIVE, Op, as_op, combine, constant, entries, sources_of
from bondgraph.model.units import matrix, per_second, quotient
