"""The delta robot: parameters, one arm's formulas, kinematics of the whole, workspace."""

from models.delta.kinematics import Configuration, DeltaKinematics
from models.delta.parameters import DeltaParameters, read_parameters

__all__ = ["Configuration", "DeltaKinematics", "DeltaParameters", "read_parameters"]
