"""Names that users write: what a wrong one may mean, where a missing one is, and what an old one is now."""

from screws.names.renamed import answer_old_names
from screws.names.similar import similar_names

__all__ = ["answer_old_names", "similar_names"]
