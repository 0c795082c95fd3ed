"""Internal names of `bondgraph.estimation` that tests use."""

# ruff: noqa: F401

from bondgraph.estimation.free_parameters import free_parameters_of, start_slopes, with_values
from bondgraph.estimation.losses import LOSSES, MARGIN
from bondgraph.estimation.variational import SensitivityWeights
