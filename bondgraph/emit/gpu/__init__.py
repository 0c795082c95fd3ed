"""Code for GPUs: procedures specialised to known memory, analysis of what they store to, and PTX."""
