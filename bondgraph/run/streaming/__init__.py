"""Streaming output: samples of chosen quantities go to memory or a sink, page by page."""
