"""Two bodies in contact: runs from scenario files or graphs, with trajectory, files and pictures."""

from screwbond.models.contacts.trajectory import contact_trajectory
from screwbond.models.two_bodies.command import ContactRun, run_contact, run_scenario, save_run, two_body_graph
from screwbond.models.two_bodies.scenario import Scenario, read_scenario

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "ContactRun",
    "Scenario",
    "contact_trajectory",
    "read_scenario",
    "run_contact",
    "run_scenario",
    "save_run",
    "two_body_graph",
]

check_calls(__name__)
answer_old_names(__name__)
