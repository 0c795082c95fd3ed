"""Studies of the delta robot: a graph and a task in; runs, linear systems and what they say of the task out."""
