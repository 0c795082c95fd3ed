"""The section "the model" of a paper: a compiled model in; its document, as LaTeX, Markdown or Typst, out."""
