"""Names that users write: what a wrong name may mean, where a missing name is, and what has replaced an old name."""

from screws.names.access import explain_access
from screws.names.missing import explain_module
from screws.names.renamed import answer_old_names
from screws.names.similar import similar_names

__all__ = ["answer_old_names", "explain_access", "explain_module", "similar_names"]
