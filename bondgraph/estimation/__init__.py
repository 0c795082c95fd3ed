"""Forward sensitivities of runs, parameter estimation from measured time series, identifiability and prediction intervals."""

from bondgraph.estimation.estimate_result import Estimate, Experiment
from bondgraph.estimation.fitting import estimate
from bondgraph.estimation.prediction_intervals import Uncertainty, uncertainty
from bondgraph.estimation.sensitivity_results import RunSensitivities, run_sensitivities
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["Estimate", "Experiment", "RunSensitivities", "Uncertainty", "estimate", "run_sensitivities", "uncertainty"]

check_calls(__name__)
answer_old_names(__name__)
