"""Shapes: surfaces, outlines and paths in; meshes of points, normals, triangles and lines out, without any drawing library."""
