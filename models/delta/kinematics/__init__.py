"""Kinematics of the delta robot: angles, tool positions, their derivatives and the workspace."""
