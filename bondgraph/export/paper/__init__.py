"""The section "the model" of a paper: a compiled model as a document in LaTeX, Markdown or Typst."""
