"""Pictures of a hand's run: plots, 3-D scene, movie and page."""
