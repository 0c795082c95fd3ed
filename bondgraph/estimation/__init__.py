"""Sensitivities and estimation: a compiled model and measured courses in; derivatives of runs, and what data tell of parameters,
out."""

from bondgraph.estimation.courses import RunSensitivities, run_sensitivities

__all__ = ["RunSensitivities", "run_sensitivities"]
