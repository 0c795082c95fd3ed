"""Internal names of `bondgraph.stepping` that tests use."""

# ruff: noqa: F401

from bondgraph.run.table import FieldTable
from bondgraph.stepping.free_bodies import free_body_stepper
from bondgraph.stepping.free_bodies.machine.steps import machine_code as pile_code
from bondgraph.stepping.free_bodies.machine.tables import APART, PileTable
from bondgraph.stepping.free_bodies.run import new_run
from bondgraph.stepping.free_bodies.run_table import Accuracy
from bondgraph.stepping.quadratic.candidates import directions
from bondgraph.stepping.step import motion_of
