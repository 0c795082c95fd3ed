"""Graphs of the delta robot: parameters in; the robot with its controllers, as arms or rigid bodies, as bond graphs out."""
