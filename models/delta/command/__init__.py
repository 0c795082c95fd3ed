"""The command screwbond delta: arguments and parameter files in; runs and their files out."""
