"""Streaming output: names to keep in; samples to memory or a sink, page by page, out."""
