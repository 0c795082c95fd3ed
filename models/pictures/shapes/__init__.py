"""Meshes of surfaces, outlines and paths: points, normals, triangles and lines, without any drawing library."""
