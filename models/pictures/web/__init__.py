"""A result or a scene in; one HTML file that opens offline, with bodies, bond graph and plots on one time slider, out."""
