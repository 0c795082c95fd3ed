"""Rendering of scenes with pyvista: stills, posters, movies and views."""
