"""Pictures of a ball maze: figures, stills and a movie."""
