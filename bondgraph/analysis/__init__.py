"""Linear analysis of a compiled model: operating points, linearisation, poles, zeros, transfer functions, sensitivities,
passivity, reciprocity.

Formulas are differentiated exactly, on a tape.
"""

from bondgraph.analysis.derivatives import Derivatives, differentiate, linearise
from bondgraph.analysis.linear import Linear
from bondgraph.analysis.margins import Margins
from bondgraph.analysis.positive_real import Passivity, passivity
from bondgraph.analysis.sampled import linearise_sampled
from bondgraph.analysis.steady import OperatingPoint, Sensitivities, operating_point, sensitivities, steady_state
from bondgraph.analysis.symmetry import Reciprocity, reciprocity
from bondgraph.analysis.transfer import TransferFunction
from bondgraph.compile.points import Point, point_of
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "Derivatives",
    "Linear",
    "Margins",
    "OperatingPoint",
    "Passivity",
    "Point",
    "Reciprocity",
    "Sensitivities",
    "TransferFunction",
    "differentiate",
    "linearise",
    "linearise_sampled",
    "operating_point",
    "passivity",
    "point_of",
    "reciprocity",
    "sensitivities",
    "steady_state",
]

check_calls(__name__)
answer_old_names(__name__)
