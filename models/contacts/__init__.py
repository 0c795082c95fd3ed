"""Contact of two curved bodies (Visser 2002, figure 3): a contact graph from two surfaces and a contact law."""

from screwbond.models.contacts.collision_sets import collisions
from screwbond.models.contacts.components import COMPONENTS, PAPER_NAMES, constrained_components
from screwbond.models.contacts.graph import attach_contact, contact
from screwbond.models.contacts.laws import (
    LAWS,
    Compliant,
    ContactLaw,
    Impact,
    Maxwell,
    Rigid,
    ThreeState,
    VirtualSpring,
    Viscoelastic,
)
from screwbond.models.contacts.trajectory import ContactWarning, UntrackedContact, find_untracked_contact

from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = [
    "COMPONENTS",
    "LAWS",
    "PAPER_NAMES",
    "Compliant",
    "ContactLaw",
    "ContactWarning",
    "Impact",
    "Maxwell",
    "Rigid",
    "ThreeState",
    "UntrackedContact",
    "VirtualSpring",
    "Viscoelastic",
    "attach_contact",
    "collisions",
    "constrained_components",
    "contact",
    "find_untracked_contact",
]

check_calls(__name__)
answer_old_names(__name__)
