"""Pictures of the delta robot: figures, stills and movies of runs and linear systems."""
