"""Diagrams of graphs and of compiled models, as SVG, PDF, PNG or TikZ."""
