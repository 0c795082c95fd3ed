"""Contact of two curved bodies (Visser 2002, figure 3): surfaces and stiffnesses in; the contact as a graph out."""

from models.contacts.components import COMPONENTS, PAPER_NAMES, constrained_components
from models.contacts.graph import attach_contact, contact
from models.contacts.many import collisions
from models.contacts.places import ContactWarning, Untracked, untracked_place

__all__ = [
    "COMPONENTS",
    "PAPER_NAMES",
    "ContactWarning",
    "Untracked",
    "attach_contact",
    "collisions",
    "constrained_components",
    "contact",
    "untracked_place",
]
