"""Markup: the content of a document, as records, in; LaTeX, Markdown or Typst out."""
