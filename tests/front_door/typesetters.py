"""The subset of LaTeX that KaTeX and MathJax both support."""

from __future__ import annotations

import re

COMMANDS = """
    begin end int det Longrightarrow left right frac tfrac dot ddot bar hat quad qquad text textrm mathrm mathbf mathcal
    boldsymbol operatorname nabla cdot times sqrt sin cos tan arccos arctan exp log max min sum partial lambda gamma
    alpha beta omega Omega Theta sigma tau mu rho phi varphi theta delta in to wedge vee neg geq leq ge le gg ll infty perp
    approx pm big Vert circ dots pi
"""
"""Commands that KaTeX 0.16.47 and MathJax 3.2.2 typeset."""
ENVIRONMENTS = {"aligned", "gathered", "matrix", "bmatrix", "pmatrix", "cases", "array"}


def unknown(formula: str) -> list[str]:
    """Return commands that KaTeX or MathJax may not know, unbalanced braces, and underscores in text.

    KaTeX refuses bare underscores, and MathJax prints the backslash of escaped ones.
    """
    commands = set(re.findall(r"\\([A-Za-z]+)", formula.replace(r"\\", ""))) - set(COMMANDS.split())
    environments = set(re.findall(r"\\begin\{(.*?)\}", formula)) - ENVIRONMENTS
    bare = re.sub(r"\\[{}]", "", formula)
    words = [inside for inside in re.findall(r"\\text\{(.*?)\}", formula) if "_" in inside]
    return [*commands, *environments, *words, *(["braces"] if bare.count("{") != bare.count("}") else [])]
