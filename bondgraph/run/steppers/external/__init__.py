"""CVODE for stiff models: addresses of machine code in; legs of a run, by SUNDIALS' shared libraries, out."""
