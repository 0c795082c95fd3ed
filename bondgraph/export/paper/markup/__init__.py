"""Markup of a document: its content as LaTeX, Markdown or Typst."""
