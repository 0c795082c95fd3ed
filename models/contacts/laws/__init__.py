"""Contact laws: the tails of a contact graph, chosen by `screwbond.models.contacts.contact(..., law=...)`."""

from screwbond.models.contacts.laws.compliant import Compliant
from screwbond.models.contacts.laws.impact import Impact
from screwbond.models.contacts.laws.law_interface import ContactForces, ContactKinematics, ContactLaw
from screwbond.models.contacts.laws.maxwell import Maxwell
from screwbond.models.contacts.laws.rigid import Rigid
from screwbond.models.contacts.laws.three_state import ThreeState
from screwbond.models.contacts.laws.virtual_spring import VirtualSpring
from screwbond.models.contacts.laws.viscoelastic import Viscoelastic

from screws.renamed import answer_old_names

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

answer_old_names(__name__)
