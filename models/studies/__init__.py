"""Studies: fields of parameters in; checked records, runs, files and their summaries out."""
