"""Calls of public functions: a Python error caused by an argument becomes an error with a code that names the argument."""

from screws.calls.explanations import check_calls, explain_methods, explanation, signature_mismatch, unknown_argument

__all__ = ["check_calls", "explain_methods", "explanation", "signature_mismatch", "unknown_argument"]
