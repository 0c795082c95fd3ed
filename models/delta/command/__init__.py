"""Command `screwbond delta`: its tasks and their files."""
