"""Contact laws: the exchangeable parts of a contact graph, chosen by `screwbond.models.contacts.contact(..., law=...)`."""

from screwbond.models.contacts.laws.compliant import Compliant
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, ContactLaw
from screwbond.models.contacts.laws.three_state import Impact, Rigid, ThreeState
from screwbond.models.contacts.laws.viscoelastic import Maxwell, VirtualSpring, Viscoelastic

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "LAWS",
    "Compliant",
    "ContactLaw",
    "ContactKinematics",
    "Impact",
    "Maxwell",
    "Rigid",
    "ContactForces",
    "ThreeState",
    "VirtualSpring",
    "Viscoelastic",
]

LAWS = (Compliant, Viscoelastic, VirtualSpring, Maxwell, Impact, ThreeState, Rigid)
"""All contact laws."""

check_calls(__name__)
answer_old_names(__name__)
