"""Contact of two curved bodies as a graph (Visser 2002, figure 3)."""

from models.contact.components import COMPONENTS, PAPER_NAMES, constrained_components
from models.contact.graph import attach_contact, contact

__all__ = ["COMPONENTS", "PAPER_NAMES", "attach_contact", "constrained_components", "contact"]
