"""Internal names of `bondgraph.sweeps` that tests use."""

# ruff: noqa: F401

from bondgraph.sweeps import interface, store
from bondgraph.sweeps.interface import workers_of
from bondgraph.sweeps.points import points_of
from bondgraph.sweeps.random_streams import random_streams
from bondgraph.sweeps.store import Store
from bondgraph.sweeps.tasks import Chunk, Kept, SentModel
