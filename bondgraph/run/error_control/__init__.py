"""Error control: rates and their couplings at a state in; what the errors of its components are measured against, out."""
