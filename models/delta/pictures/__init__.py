"""Pictures of the delta robot: runs and linear systems in; figures, stills and movies out."""
