"""Functions through tabulated data, and integrals of laws."""
