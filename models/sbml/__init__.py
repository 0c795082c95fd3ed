"""Reaction networks of SBML as graphs."""

from screwbond.models.sbml.networks import SBMLNetwork, parse_sbml, read_sbml

__all__ = ["SBMLNetwork", "parse_sbml", "read_sbml"]
