"""SBML reaction networks as graphs."""

from screwbond.models.sbml.networks import SBMLNetwork, parse_sbml, read_sbml

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["SBMLNetwork", "parse_sbml", "read_sbml"]

check_calls(__name__)
answer_old_names(__name__)
