"""C sources of FMUs: the functions of FMI 2.0 and 3.0 for the run of a model."""
