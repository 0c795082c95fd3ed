"""Pictures of a ball maze: its parameters, a run and its linear analysis in; figures, stills and a movie out."""
