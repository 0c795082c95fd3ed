"""Interactive pages: one HTML file that opens offline, with bodies, bond graph and plots on one time slider."""
