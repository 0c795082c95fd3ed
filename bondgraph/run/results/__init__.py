"""Results of runs: trajectories by name, the energy account, and failures."""
