"""Results: the trajectory of a run in; values by name, the energy account and failures out."""
