"""Sweeps: a model, many points and what is to be kept in; every run once, stored so that it can be gone on with, out."""

from bondgraph.sweeps.distributions import loguniform, normal, uniform
from bondgraph.sweeps.interface import sweep
from bondgraph.sweeps.keep import Measure, events, first_time, integral, last, mean, peak
from bondgraph.sweeps.runs import Run, Runs, load_runs
from bondgraph.sweeps.tasks import RunIssue
from screws.renamed import answer_old_names

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
    "mean",
    "normal",
    "peak",
    "sweep",
    "uniform",
]

answer_old_names(__name__)
