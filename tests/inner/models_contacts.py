"""Internal names of `screwbond.models.contacts` that tests use."""

# ruff: noqa: F401

from screwbond.models.contacts import graph as contact_graph
from screwbond.models.contacts.collision_sets import collisions
from screwbond.models.contacts.graph import AD_CONTACT, TO_CONTACT
from screwbond.models.contacts.kinematics import GAUSS_FRAME_NOTE, UNIQUENESS, geometry_op
from screwbond.models.contacts.laws import Impact
from screwbond.models.contacts.trajectory import contact_intervals
