"""Internal names of `screwbond.models.two_bodies` that tests use."""

# ruff: noqa: F401

from screwbond.models.two_bodies.command import TASK, ContactRun, overview, run_contact, run_scenario, two_body_graph
from screwbond.models.two_bodies.scenario import (
    GRAVITIES,
    MOTIONS,
    STIFFNESS,
    SURFACES,
    ContactSpec,
    GravitySpec,
    Scenario,
    read_scenario,
)
from screwbond.models.two_bodies.scenario import BodySpec as body_fields_BodySpec
from screwbond.models.two_bodies.scenario import BodySpec as scenario_BodySpec
