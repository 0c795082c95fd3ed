"""Inner names of `bondgraph.sweeps` that tests look into."""

# ruff: noqa: F401

from bondgraph.sweeps import executors
from bondgraph.sweeps.executors import workers_of
from bondgraph.sweeps.kept_columns import Kept
from bondgraph.sweeps.points import points_of
from bondgraph.sweeps.store import Store, distinct
from bondgraph.sweeps.worker_models import SentModel
