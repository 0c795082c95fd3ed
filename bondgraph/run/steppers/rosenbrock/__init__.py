"""The Rosenbrock method Rodas5P: rates and their Jacobian in machine code in; steps of stiff models, dense output, events out."""
