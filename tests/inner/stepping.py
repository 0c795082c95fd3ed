"""Inner names of `bondgraph.stepping` that tests look into."""

# ruff: noqa: F401

from bondgraph.stepping.free_bodies import free_body_stepper
from bondgraph.stepping.free_bodies.gauss_seidel import Contacts, solve_contacts
from bondgraph.stepping.quadratic.candidates import directions
from bondgraph.stepping.step import motion_of
