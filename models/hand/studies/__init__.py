"""Studies of the hand: a scenario in; its run and what the run says of the grasp, over time, out."""
