"""Code for GPUs: procedures specialised for known tables, analysis of the memory that they store to, and PTX."""
