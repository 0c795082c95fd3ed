"""Code for GPUs: procedures specialised to known memory, analysis of the memory that they store to, and PTX."""
