"""Contact of two curved bodies (Visser 2002, figure 3): surfaces and a law in; the contact as a graph out."""

from models.contacts.components import COMPONENTS, PAPER_NAMES, constrained_components
from models.contacts.graph import attach_contact, contact
from models.contacts.laws import LAWS, Compliant, ContactLaw, Impact, Maxwell, Rigid, ThreeState, VirtualSpring, Viscoelastic
from models.contacts.places import ContactWarning, Untracked, untracked_place
from models.contacts.planar import planar_contact

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
    "Untracked",
    "VirtualSpring",
    "Viscoelastic",
    "attach_contact",
    "constrained_components",
    "contact",
    "planar_contact",
    "untracked_place",
]
