"""Random graphs, and their behaviour computed by independent algebra, for campaigns and tests."""
