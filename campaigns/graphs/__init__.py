"""Random graphs and their behaviour by independent algebra, for campaigns and tests."""
