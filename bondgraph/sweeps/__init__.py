"""Parameter sweeps: run a model at many points, once each, with a store from which an interrupted sweep resumes."""

from bondgraph.run.measures import Measure, events, first_time, integral, last, lowest, mean, peak, series
from bondgraph.sweeps.interface import sweep
from bondgraph.sweeps.points import loguniform, normal, uniform
from bondgraph.sweeps.runs import Run, Runs, load_runs
from bondgraph.sweeps.tasks import RunIssue
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "RunIssue",
    "Measure",
    "Run",
    "Runs",
    "events",
    "first_time",
    "integral",
    "last",
    "load_runs",
    "loguniform",
    "lowest",
    "mean",
    "normal",
    "peak",
    "series",
    "sweep",
    "uniform",
]

check_calls(__name__)
answer_old_names(__name__)
