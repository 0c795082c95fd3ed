"""Sensitivities and estimation: a compiled model and measured courses in; derivatives of runs, and what data tell of parameters,
out."""

from bondgraph.estimation.bands import Uncertainty, uncertainty
from bondgraph.estimation.courses import RunSensitivities, run_sensitivities
from bondgraph.estimation.estimated import Estimate
from bondgraph.estimation.experiments import Experiment
from bondgraph.estimation.fitting import estimate

__all__ = ["Estimate", "Experiment", "RunSensitivities", "Uncertainty", "estimate", "run_sensitivities", "uncertainty"]
