"""Kinematics of the delta robot: parameters in; angles, tool positions, their derivatives and the workspace out."""
