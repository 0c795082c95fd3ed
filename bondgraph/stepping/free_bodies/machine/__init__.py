"""Step of free bodies as typed functions of the kernel language: motion, collision detection, contact rows and impulses."""
