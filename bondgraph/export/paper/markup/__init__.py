"""Markup: the content of a document, as records, in; LaTeX or Markdown out."""
