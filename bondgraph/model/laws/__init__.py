"""Constitutive laws: formulas and numbers of one element in; frozen records that say what it does, in any graph, out."""

from bondgraph.model.laws.blocks import Equation, SignalBlock
from bondgraph.model.laws.given import ByMode, Parameter, StateSpec
from bondgraph.model.laws.ideal import IdealConstraint, IdealSwitch
from bondgraph.model.laws.law import (
    OTHER,
    PORT,
    TWO_PORTS,
    CausalityPreference,
    CausalityRequest,
    Law,
    Storing,
    Switched,
    Variable,
)
from bondgraph.model.laws.power import Reaction, Resistor, Source
from bondgraph.model.laws.storages import InertialField, Storage
from bondgraph.model.laws.structure import Action, Gyrator, Junction, Ratio, SkewGyrator, Transformer
from screws.renamed import answer_old_names

__all__ = ["Law", "Storing", "Switched", "CausalityRequest", "CausalityPreference", "Variable", "OTHER", "PORT", "TWO_PORTS"]
__all__ += ["Parameter", "ByMode", "StateSpec"]
__all__ += ["Storage", "InertialField", "Resistor", "Reaction", "Source", "IdealConstraint", "IdealSwitch"]
__all__ += ["Action", "Ratio", "Transformer", "Gyrator", "SkewGyrator", "Junction", "Equation", "SignalBlock"]

answer_old_names(__name__)
