"""Laws of contact: numbers in; what acts behind the head of a contact out. `models.contacts.contact(..., law=...)` takes one."""

from models.contacts.laws.compliant import Compliant
from models.contacts.laws.impact import Impact
from models.contacts.laws.maxwell import Maxwell
from models.contacts.laws.rigid import Rigid
from models.contacts.laws.tails import ContactLaw, Head, Tail
from models.contacts.laws.three_state import ThreeState
from models.contacts.laws.virtual_spring import VirtualSpring
from models.contacts.laws.viscoelastic import Viscoelastic

__all__ = [
    "LAWS",
    "Compliant",
    "ContactLaw",
    "Head",
    "Impact",
    "Maxwell",
    "Rigid",
    "Tail",
    "ThreeState",
    "VirtualSpring",
    "Viscoelastic",
]

LAWS = (Compliant, Viscoelastic, VirtualSpring, Maxwell, Impact, ThreeState, Rigid)
"""All of them."""
